package dev.millrace.cli.launch;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

/**
 * The processes of a job, from start to end. A task that dies starts again as the policy says; if
 * that is not allowed, its failure ends the job. Every process ends with this one: when the job is
 * closed, on SIGTERM and Ctrl-C after it had time to save, and when this process is killed.
 *
 * <p>Threading: one thread starts the job and waits for it. {@link #close} and the end of the JVM
 * may come on any thread.
 */
public final class SupervisedJob implements AutoCloseable {
  /** How long tasks have to end when one of them failed. */
  private static final Duration STOP = Duration.ofSeconds(5);

  /** How long they have to save the model when the job is told to stop. */
  private static final Duration SAVE = Duration.ofSeconds(60);

  /** How long they have to end by themselves when the chief is done. */
  private static final Duration LEAVE = Duration.ofSeconds(120);

  /** How much longer than the task itself its script may take to end. */
  private static final Duration SCRIPT = Duration.ofSeconds(5);

  private final JobPlan plan;
  private final RestartPolicy policy;
  private final List<String> ssh;
  private final JobDisplay display;
  private final LinkedBlockingQueue<Event> events = new LinkedBlockingQueue<>();
  private final Thread onExit = new Thread(() -> stopAll(SAVE), "millrace-stop-tasks");

  /** The tasks of this start. Guarded by this, as {@link #stopping}. */
  private List<Member> members = List.of();

  /** Whether no task may start any more. */
  private boolean stopping;

  /** How often all tasks together started again. */
  private int generation;

  /** When the chief ended well; 0 before. */
  private long chiefDone;

  /** Who told the job to stop; null before. */
  private JobOutcome stopped;

  /** A task and its process. */
  private static final class Member {
    final JobTask task;
    final TaskOutput output;
    TaskProcess process;
    int restarts;
    boolean done;

    Member(JobTask task, TaskOutput output) {
      this.task = task;
      this.output = output;
    }

    boolean isAlive() {
      return process != null && process.isAlive();
    }

    JobOutcome result() {
      return new JobOutcome(task, process.exitCode(), output.lastWords());
    }
  }

  /** A process has ended, or with {@code process} null, a task may start again. */
  private record Event(Member member, TaskProcess process) {}

  /**
   * A job that has not started. It closes the plan.
   *
   * @param ssh the command that reaches other hosts
   */
  public SupervisedJob(JobPlan plan, RestartPolicy policy, List<String> ssh, JobDisplay display) {
    this.plan = plan;
    this.policy = policy;
    this.ssh = ssh;
    this.display = display;
    Runtime.getRuntime().addShutdownHook(onExit);
  }

  /** Starts all tasks and waits for the end of the job. */
  public JobOutcome run() throws IOException, InterruptedException {
    startAll();
    JobOutcome failed = null;
    while (failed == null && !isOver()) {
      Event event = next();
      if (event.process != null) {
        failed = ended(event.member, event.process);
      } else {
        start(event.member);
      }
    }
    if (failed != null) {
      stopAll(STOP);
      return failed;
    }
    return stopped != null ? stopped : JobOutcome.DONE;
  }

  private Event next() throws InterruptedException {
    if (chiefDone == 0) {
      return events.take();
    }
    long left = LEAVE.toNanos() - Timers.system().since(chiefDone);
    Event event = Timers.system().poll(events, Math.max(0, left));
    if (event == null) {
      throw new MillraceException(
          Code.DEADLINE_EXCEEDED,
          String.format(
              "%s did not end within %d s after the chief was done, and will be ended. The logs say"
                  + " what they wait for.",
              running(), LEAVE.toSeconds()));
    }
    return event;
  }

  private synchronized boolean isOver() {
    return members.stream().allMatch(m -> m.done);
  }

  private synchronized String running() {
    return members.stream()
        .filter(m -> !m.done)
        .map(m -> m.task.name())
        .collect(Collectors.joining(", "));
  }

  /** Starts all tasks, after none of them could be refused. */
  private void startAll() throws IOException {
    List<JobTask> tasks = plan.tasks();
    tasks.forEach(TaskProcess::check);
    List<Member> all = new ArrayList<>();
    for (JobTask task : tasks) {
      all.add(new Member(task, display.of(task, all.size())));
    }
    synchronized (this) {
      members.forEach(m -> m.output.close());
      members = all;
    }
    all.forEach(this::start);
  }

  private synchronized void start(Member member) {
    if (stopping || member.done || !members.contains(member)) {
      member.done = true;
      return;
    }
    TaskProcess process = TaskProcess.start(member.task, ssh, member.output);
    member.process = process;
    process.onExit().thenRun(() -> events.add(new Event(member, process)));
  }

  /** A process has ended; returns the failure that ends the job, or null. */
  private JobOutcome ended(Member member, TaskProcess process)
      throws IOException, InterruptedException {
    // If only its shell was killed, the command is still there.
    process.stop(Duration.ZERO);
    synchronized (this) {
      if (!members.contains(member) || member.process != process) {
        return null;
      }
      member.done = true;
    }
    member.output.awaitRest();
    JobOutcome result = member.result();
    if (result.code() == 0) {
      display.ended(member.task);
      if (member.task.chief() && !policy.together()) {
        chiefIsDone();
      }
      return null;
    }
    if (chiefDone != 0 || stopped != null) {
      return null;
    }
    if (isStopping()) {
      stopped = result;
      return null;
    }
    if (result.isStopped()) {
      stopped = result;
      askToStop(SAVE);
      return null;
    }
    return policy.together() ? startTogether(result) : startAgain(member, result);
  }

  private synchronized boolean isStopping() {
    return stopping;
  }

  /** Without the chief nobody saves: a task that waits to start again is done as well. */
  private synchronized void chiefIsDone() {
    chiefDone = Timers.system().now() | 1;
    stopping = true;
    members.stream().filter(m -> !m.isAlive()).forEach(m -> m.done = true);
  }

  private JobOutcome startAgain(Member member, JobOutcome result) throws InterruptedException {
    if (result.isWrongUse() || !policy.allows(result.code(), member.restarts)) {
      return rootCause(result);
    }
    synchronized (this) {
      member.restarts++;
      member.done = false;
    }
    announce(result, member.restarts, "it starts");
    member.output.note("# " + result.happened() + "; restart " + member.restarts);
    later(member);
    return null;
  }

  /** Ends the other tasks, and starts all of them as a new generation. */
  private JobOutcome startTogether(JobOutcome first) throws IOException, InterruptedException {
    askAndAwait(STOP);
    JobOutcome result = rootCause(first);
    if (result.isWrongUse() || !policy.allows(result.code(), generation)) {
      return result;
    }
    generation++;
    announce(result, generation, "all tasks start");
    Timers.system().sleep(RestartPolicy.pause(generation));
    if (isStopping()) {
      return result;
    }
    startAll();
    return null;
  }

  private void announce(JobOutcome result, int restart, String what) {
    display.say(
        String.format(
            "%s; %s again in %d s (restart %d of %d).",
            result.happened().replaceFirst("\\.$", ""),
            what,
            RestartPolicy.pause(restart).toSeconds(),
            restart,
            policy.limit()));
  }

  private void later(Member member) {
    Timers.system()
        .later(
            RestartPolicy.pause(member.restarts).toNanos(),
            () -> events.add(new Event(member, null)));
  }

  /**
   * The failure that caused the others: of a task that was killed, since its peers fail of its
   * loss; else of the chief, whose words the others repeat; else the first.
   */
  private JobOutcome rootCause(JobOutcome first) throws InterruptedException {
    List<JobOutcome> failures = new ArrayList<>();
    List<Member> all;
    synchronized (this) {
      all = members;
    }
    for (Member m : all) {
      if (m.process != null
          && !m.isAlive()
          && m.process.exitCode() != 0
          && !m.process.isOverdue()) {
        m.output.awaitRest();
        failures.add(m.result());
      }
    }
    if (JobOutcome.isKilled(first.code())) {
      return first;
    }
    return failures.stream()
        .filter(f -> JobOutcome.isKilled(f.code()))
        .findFirst()
        .or(() -> failures.stream().filter(f -> f.task().chief() && !f.isStopped()).findFirst())
        .orElse(first);
  }

  private synchronized void askToStop(Duration grace) {
    members.stream().filter(m -> m.process != null).forEach(m -> m.process.stop(grace));
  }

  private void askAndAwait(Duration grace) {
    List<Member> all;
    synchronized (this) {
      all = members;
      askToStop(grace);
    }
    long end = Timers.system().now() + grace.plus(SCRIPT).toNanos();
    for (Member m : all) {
      if (m.process == null) {
        continue;
      }
      try {
        Timers.system().get(m.process.onExit(), Math.max(0, end - Timers.system().now()));
      } catch (InterruptedException e) {
        m.process.kill();
        Thread.currentThread().interrupt();
      } catch (ExecutionException | TimeoutException e) {
        m.process.kill();
      }
    }
  }

  /** Ends all tasks for good. */
  private void stopAll(Duration grace) {
    synchronized (this) {
      stopping = true;
    }
    askAndAwait(grace);
  }

  @Override
  public void close() {
    stopAll(STOP);
    plan.close();
    List<Member> all;
    synchronized (this) {
      all = members;
    }
    all.forEach(m -> m.output.close());
    try {
      Runtime.getRuntime().removeShutdownHook(onExit);
    } catch (IllegalStateException e) {
      // Already shutting down: the hook is running or has run.
    }
  }
}
