package dev.millrace.dashboard.watch;

import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.dashboard.verdict.JobVerdict;
import dev.millrace.dashboard.verdict.Judge;
import dev.millrace.proto.TaskFacts;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches a running job from outside: asks every task once a second how it is, and judges what
 * slows the job. A verdict counts when two looks in a row agree on it.
 *
 * <p>Threading: any thread; it has a thread of its own.
 */
public final class JobWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(JobWatch.class);
  private static final long EVERY_NANOS = 1_000_000_000L;
  private static final int KEPT_VERDICTS = 50;

  /** A question that is not answered within its own limit is answered with that error. */
  private static final Duration ANSWER = Duration.ofSeconds(10);

  private final Timers timers = Context.current().timers();
  private final JobLog log;
  private volatile List<WatchedTask> tasks = List.of();
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          Thread.ofPlatform().name("millrace-watch-", 0).daemon().factory());
  private final Timers.Schedule schedule;
  private final Consumer<JobVerdict> listener;
  private volatile JobSnapshot state = JobSnapshot.NOTHING;

  /** The tasks that have ended well. */
  private final Set<String> ended = ConcurrentHashMap.newKeySet();

  /** The latest look, whatever the one before said. Touched by the schedule. */
  private JobVerdict proposed = state.verdict();

  /** The verdicts that blamed something, the oldest first. Guarded by itself. */
  private final List<JobVerdict> blamed = new ArrayList<>();

  /**
   * Watches from now on.
   *
   * @param cluster the tasks
   * @param log where to note tasks that go and come
   * @param delay how long to wait before the first look
   * @param listener told of every verdict that differs from the one before
   */
  public JobWatch(ClusterSpec cluster, JobLog log, Duration delay, Consumer<JobVerdict> listener) {
    this.log = log;
    this.listener = listener;
    schedule = timers.schedule("millrace-watch");
    schedule.later(
        delay.toNanos() + 1,
        () -> {
          List<WatchedTask> all = new ArrayList<>();
          for (TaskId t : cluster.tasks()) {
            all.add(new WatchedTask(t, cluster.address(t), threads, log));
          }
          tasks = all;
          look();
          schedule.every(EVERY_NANOS, this::look);
        });
  }

  private void look() {
    try {
      tasks.stream().filter(t -> !ended.contains(t.name())).forEach(WatchedTask::ask);
      List<TaskState> now =
          tasks.stream().filter(t -> !ended.contains(t.name())).map(WatchedTask::state).toList();
      long millis = timers.wallTime().toEpochMilli();
      JobVerdict next =
          Judge.of(now.stream().map(TaskState::figures).toList(), Math.floorDiv(millis, 1000L));
      JobVerdict before = state.verdict();
      boolean counts = next.blamesAs(proposed) || next.state() != JobVerdict.State.SLOW;
      proposed = next;
      JobVerdict shown = counts ? next : before;
      state = new JobSnapshot(millis, now, shown);
      if (counts && !next.blamesAs(before)) {
        changed(next);
      }
    } catch (RuntimeException e) { // otherwise the schedule would drop it
      LOG.warn("The job could not be judged: {}", e.toString());
    }
  }

  private void changed(JobVerdict v) {
    if (v.state() == JobVerdict.State.SLOW) {
      synchronized (blamed) {
        blamed.add(v);
        if (blamed.size() > KEPT_VERDICTS) {
          blamed.removeFirst();
        }
      }
    }
    listener.accept(v);
  }

  /** The job as it was at the last look. */
  public JobSnapshot state() {
    return state;
  }

  /** What this look alone says, for those who look once. */
  public JobVerdict verdictNow() {
    return Judge.of(
        tasks.stream().map(t -> t.state().figures()).toList(), timers.wallTime().getEpochSecond());
  }

  /** A task has ended well: from now on nobody is to miss it. */
  public void ended(String task) {
    ended.add(task);
  }

  /**
   * Records the next {@code steps} steps of all tasks, as long as the slowest takes for so many, 10
   * s at most. Waits for that.
   */
  public StepTimeline record(int steps) {
    double longest =
        state.tasks().stream()
            .filter(t -> t.figures().isTraining())
            .mapToDouble(
                t -> {
                  long second = Math.floorDiv(state.epochMillis(), 1000L);
                  return t.figures().span(second - 6, second - 1).millis();
                })
            .max()
            .orElse(50);
    Duration duration = Duration.ofMillis(Math.round(Math.clamp(steps * longest, 100, 10_000)));
    List<WatchedTask> asked = tasks;
    asked.stream().map(t -> t.record(duration)).toList().forEach(this::answer);
    try {
      timers.sleep(duration);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    StepTimeline timeline = new StepTimeline();
    List<CompletableFuture<TaskFacts>> answers = asked.stream().map(WatchedTask::recorded).toList();
    for (int i = 0; i < answers.size(); i++) {
      TaskFacts facts = answer(answers.get(i));
      if (facts != null) {
        timeline.add(asked.get(i).name(), facts, asked.get(i).clockAheadNanos());
      }
    }
    return timeline;
  }

  /** The answer of a task; null if it gives none. */
  private TaskFacts answer(CompletableFuture<TaskFacts> asked) {
    try {
      return timers.get(asked, ANSWER);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      LOG.debug("A task does not record its steps: {}", e.toString());
    }
    return null;
  }

  /** What was blamed so far, the oldest first. */
  public List<JobVerdict> blamed() {
    synchronized (blamed) {
      return List.copyOf(blamed);
    }
  }

  /** What the tasks printed, and what happened to them. */
  public JobLog log() {
    return log;
  }

  @Override
  public void close() {
    schedule.close();
    threads.shutdownNow();
    tasks.forEach(WatchedTask::close);
  }
}
