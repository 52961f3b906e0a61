package dev.millrace.train.job;

import dev.millrace.base.Backoff;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.hook.SessionRunHook;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How parameter servers learn that the job is over. Each has a queue of strings, {@code
 * millrace_job_end}; each worker puts its final status into all of them at its end: {@code worker/1
 * ok}, {@code worker/1 stopped}, or {@code worker/1 failed: why}. A parameter server leaves when
 * the chief is done or has failed, the others given a moment. The chief is worker 0, or a task of a
 * job of its own.
 *
 * <p>A process that is ended by Ctrl-C says {@code worker/1 left}: the job goes on, and at its end
 * this one is not waited for. Since it may be started again, a worker says {@code worker/1 trains}
 * whenever it has a session.
 */
public final class JobEnd {
  /** The name of the queue on each parameter server. */
  public static final String QUEUE = "millrace_job_end";

  private static final Logger LOG = LoggerFactory.getLogger(JobEnd.class);
  private static final String STOPPED = " stopped";
  private static final String TRAINS = " trains";
  private static final String LEFT = " left";
  private static final Duration STATUS_TIMEOUT = Duration.ofSeconds(10);

  /** As {@link #STATUS_TIMEOUT}, but somebody waits for the process to end. */
  private static final Duration LEAVE_TIMEOUT = Duration.ofSeconds(2);

  private static final Duration GRACE = Duration.ofSeconds(10);
  private static final Duration FIRST_PAUSE = Duration.ofMillis(500);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(10);
  private static final long LOOK_NANOS = 200_000_000L;
  private static final Duration REPORT = Duration.ofSeconds(60);
  private static final Duration LONGEST_REPORT = Duration.ofMinutes(5);

  private static final String WELL = " ok";

  private JobEnd() {}

  /** The final status of {@code task}, which is done or was told to stop. */
  static String status(String task, boolean stopped) {
    return task + (stopped ? STOPPED : WELL);
  }

  /** The final status of {@code task}, which has failed. */
  static String status(String task, MillraceException cause) {
    return task + " failed: " + cause.getMessage();
  }

  /** Whether a task says just this of itself; why it failed might end like it. */
  private static boolean says(String status, String what) {
    int space = status.indexOf(' ');
    return space >= 0 && status.substring(space).equals(what);
  }

  /** How a job ended: {@code cause} is null if well. */
  public record Outcome(String cause) {
    /** What the final status of the chief says about the job. */
    static Outcome of(String status) {
      return new Outcome(says(status, WELL) ? null : status);
    }

    /** Whether it was told to stop before it was done. */
    public boolean isStopped() {
      return cause != null && says(cause, STOPPED);
    }

    /** The exit code for a process of the job. */
    public int exitCode() {
      return cause == null ? 0 : isStopped() ? Termination.TERMINATED : 1;
    }
  }

  private static Output queue(Scope scope, int psTask) {
    return scope
        .withDevice("/job:ps/task:" + psTask + "/device:CPU:0")
        .withName(QUEUE)
        .node("FIFOQueueV2")
        .attr("component_types", List.of(DType.STRING))
        .attr("shapes", List.of(Shape.scalar()))
        .attr("capacity", -1)
        .attr("shared_name", QUEUE)
        .add()
        .output();
  }

  /** What worker {@code index} of a job with these parameter servers says at its end. */
  public static SessionRunHook hook(Scope scope, int psTasks, int index) {
    return hook(scope, psTasks, "worker/" + index);
  }

  /**
   * Reports the final status of {@code task}, such as {@code chief/0}. The status is "stopped" if
   * SIGTERM ended its training ({@link SaveOnTermination}).
   */
  public static SessionRunHook hook(Scope scope, int psTasks, String task) {
    return hook(scope, psTasks, task, SaveOnTermination::isRequested);
  }

  /**
   * What {@code task} says at its end.
   *
   * @param stopped whether it was told to stop, asked when it ends
   */
  public static SessionRunHook hook(
      Scope scope, int psTasks, String task, BooleanSupplier stopped) {
    return new StatusHook(scope, psTasks, task, stopped);
  }

  private static final class StatusHook implements SessionRunHook {
    private final String task;
    private final Output status;
    private final BooleanSupplier stopped;
    private final List<Node> say = new ArrayList<>();
    private Platform platform;
    private final Thread atExit = new Thread(this::leave, "millrace-leave");

    /** Where this task trains; null before and after. */
    private volatile Session training;

    StatusHook(Scope outer, int psTasks, String task, BooleanSupplier stopped) {
      this.task = task;
      this.stopped = stopped;
      Scope scope = Scope.of(outer.graph()).withSubScope("job_end");
      status = Placeholder.of(scope.withName("status"), DType.STRING, Shape.scalar());
      for (int i = 0; i < psTasks; i++) {
        Output queue = queue(scope, i);
        say.add(QueueAccess.enqueue(scope.colocatedWith(queue.node()), queue, List.of(status)));
      }
    }

    /** The parameter servers end on the final status: it is sent after the model is saved. */
    @Override
    public boolean isLast() {
      return true;
    }

    @Override
    public void afterCreateSession(Session session, Coordinator coordinator) {
      say(session, task + TRAINS, STATUS_TIMEOUT);
      if (training == null) {
        platform = coordinator.platform();
        platform.addExitHook(atExit);
      }
      training = session;
    }

    @Override
    public void end(Session session) {
      endsBy(session, status(task, stopped.getAsBoolean()));
    }

    @Override
    public void abandon(Session session, MillraceException cause) {
      endsBy(session, status(task, cause));
    }

    private void endsBy(Session session, String text) {
      if (training != null) {
        training = null;
        platform.removeExitHook(atExit);
      }
      say(session, text, STATUS_TIMEOUT);
    }

    /** The process ends in the midst of training: by Ctrl-C, as SIGTERM is waited out. */
    private void leave() {
      Session session = training;
      if (session != null) {
        say(session, task + LEFT, LEAVE_TIMEOUT);
      }
    }

    /** One by one: a parameter server that is gone must not keep the others from receiving it. */
    private void say(Session session, String text, Duration limit) {
      try (Tensor t = Tensor.scalar(text)) {
        for (Node node : say) {
          try {
            session.run(
                Map.of(status, t), List.of(), List.of(node), RunOptions.DEFAULT.withTimeout(limit));
          } catch (MillraceException e) {
            LOG.warn("{} could not be told '{}': {}", node.device(), text, e.getMessage());
          }
        }
      }
    }
  }

  /** Waits, on parameter server {@code index}, for the end of the job; see below. */
  public static Outcome await(
      OpRegistry registry, SessionFactory sessions, int index, int workers) {
    return await(registry, sessions, index, workers, GRACE);
  }

  /** Waits for the end of a job whose chief is worker 0. */
  public static Outcome await(
      OpRegistry registry, SessionFactory sessions, int index, int workers, Duration grace) {
    List<String> tasks = IntStream.range(0, workers).mapToObj(i -> "worker/" + i).toList();
    return await(registry, sessions, index, tasks, grace, Context.current().platform());
  }

  /**
   * Waits, on parameter server {@code index}, for the end of the job.
   *
   * @param sessions sessions on this task's own server
   * @param tasks who trains, the chief first
   * @param grace how long the others have once the chief is done
   * @param platform by whose clock to wait
   */
  public static Outcome await(
      OpRegistry registry,
      SessionFactory sessions,
      int index,
      List<String> tasks,
      Duration grace,
      Platform platform) {
    Graph graph = new Graph(registry);
    Output queue = queue(Scope.of(graph), index);
    Scope there = Scope.of(graph).colocatedWith(queue.node());
    Output count = QueueAccess.size(there, queue);
    Output next = QueueAccess.dequeue(there, queue, List.of(DType.STRING)).output(0);
    Attendance attendance = new Attendance(tasks, grace, platform.timers());
    attendance.report();
    Backoff backoff = new Backoff(platform, FIRST_PAUSE, LONGEST_PAUSE);
    while (true) {
      try (Session session = sessions.open(graph)) {
        return attendance.call(session, count, next);
      } catch (MillraceException e) {
        // The queue outlives a session, as when this process was paused for long.
        if (e.code() != Code.ABORTED && e.code() != Code.UNAVAILABLE) {
          throw e;
        }
        LOG.warn("Waiting for the end of the job again, after a failure: {}", e.getMessage());
        backoff.pause();
      }
    }
  }

  /** Who is still there. */
  private static final class Attendance {
    private final List<String> tasks;
    private final Set<String> missing;
    private final Duration grace;
    private final Timers timers;
    private long chiefDone;
    private Outcome outcome;

    /** When to say again that the job goes on: less and less often. */
    private Duration report = REPORT;

    Attendance(List<String> tasks, Duration grace, Timers timers) {
      this.timers = timers;
      this.tasks = tasks;
      this.missing = new LinkedHashSet<>(tasks);
      this.grace = grace;
    }

    void report() {
      LOG.info("Serving; the job ends when {} are done.", missing);
    }

    Outcome call(Session session, Output count, Output next) {
      while (true) {
        String status = listen(session, count, next);
        if (status != null) {
          note(status);
        }
        if (isChiefDone() && (missing.isEmpty() || left() <= 0)) {
          if (!missing.isEmpty()) {
            LOG.warn(
                "The chief is done; {} did not say so within {} s.", missing, grace.toSeconds());
          }
          return outcome;
        }
        if (status == null && !isChiefDone()) {
          report();
          report =
              report.multipliedBy(2).compareTo(LONGEST_REPORT) < 0
                  ? report.multipliedBy(2)
                  : LONGEST_REPORT;
        }
      }
    }

    /**
     * The next status; null if none came for a while. Takes one only if the queue has one: a step
     * that waits could take a status just as its time is over, and lose it.
     */
    private String listen(Session session, Output count, Output next) {
      long patience = isChiefDone() ? left() : report.toNanos();
      long end = timers.now() + patience;
      while (count(session, count) == 0) {
        long left = end - timers.now();
        if (left <= 0) {
          return null;
        }
        timers.park(this, Math.min(LOOK_NANOS, left));
      }
      try (Tensor status = session.fetch(next)) {
        return status.stringValue();
      }
    }

    private static int count(Session session, Output count) {
      try (Tensor n = session.fetch(count)) {
        return n.intValue();
      }
    }

    private long left() {
      return grace.toNanos() - (timers.now() - chiefDone);
    }

    private boolean isChiefDone() {
      return !missing.contains(tasks.getFirst());
    }

    /**
     * Notes a status. The chief's final one says how the job ended; one that has left says nothing
     * about that, and may come back.
     */
    private void note(String status) {
      String task = status.substring(0, Math.max(0, status.indexOf(' ')));
      if (!tasks.contains(task)) {
        LOG.warn(
            "'{}' is no final status of {}; those read '{} ok'.", status, tasks, tasks.getLast());
        return;
      }
      boolean chief = task.equals(tasks.getFirst());
      if (status.equals(task + TRAINS)) {
        // Also one that was gone. But what the chief has said of the job's end remains said.
        if (!chief) {
          missing.add(task);
        }
        return;
      }
      LOG.info("Final status: {}", status);
      if (chief && status.equals(task + LEFT)) {
        return;
      }
      missing.remove(task);
      if (chief) {
        chiefDone = timers.now();
        outcome = Outcome.of(status);
      }
    }
  }
}
