package dev.millrace.dashboard.web;

import dev.millrace.base.steps.Figure;
import dev.millrace.base.steps.StepHistory.Second;
import dev.millrace.dashboard.verdict.JobVerdict;
import dev.millrace.dashboard.verdict.Judge;
import dev.millrace.dashboard.verdict.TaskFigures;
import dev.millrace.dashboard.watch.JobLog;
import dev.millrace.dashboard.watch.JobSnapshot;
import dev.millrace.dashboard.watch.StepTimeline;
import dev.millrace.dashboard.watch.TaskState;
import dev.millrace.proto.TaskFacts;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.LongSupplier;

/** A job of made-up tasks, for tests of the page; its time is that of {@code clock}. */
final class SimulatedJob implements JobSource {
  private final JobLog log = new JobLog();
  private final LongSupplier clock;
  private final int servers;
  private final int workers;
  private final Path folder;
  private final String suffix;

  /** A task whose steps are slow; empty for none. */
  volatile String slow = "";

  /** A task that does not answer; empty for none. */
  volatile String gone = "";

  SimulatedJob(LongSupplier clock, int servers, int workers, Path folder, String suffix) {
    this.clock = clock;
    this.servers = servers;
    this.workers = workers;
    this.folder = folder;
    this.suffix = suffix;
    log.line("worker/0" + suffix, "Saved model.ckpt-0 in 12 ms.");
    log.line("ps/0" + suffix, "[main] WARN a warning <b>in bold</b>");
  }

  @Override
  public JobSnapshot state() {
    long millis = clock.getAsLong();
    long second = Math.floorDiv(millis, 1000L);
    List<TaskState> tasks = new ArrayList<>();
    for (int i = 0; i < servers; i++) {
      tasks.add(task("ps/" + i + suffix, "ps", second));
    }
    for (int i = 0; i < workers; i++) {
      tasks.add(task("worker/" + i + suffix, "worker", second));
    }
    JobVerdict v = Judge.of(tasks.stream().map(TaskState::figures).toList(), second);
    return new JobSnapshot(millis, tasks, v);
  }

  private TaskState task(String name, String job, long now) {
    List<Second> seconds = new ArrayList<>();
    int length = workers > 100 ? 30 : 120;
    for (long s = now - length; s < now; s++) {
      Random random = new Random(s * 31 + name.hashCode());
      long[] v = new long[Figure.ALL.size()];
      v[Figure.SAMPLED.ordinal()] = 1_000_000_000L;
      v[Figure.CPU.ordinal()] = 350_000_000L + random.nextInt(50_000_000);
      v[Figure.HOST_CPU.ordinal()] = 1_700_000_000L;
      v[Figure.GC.ordinal()] = random.nextInt(12_000_000);
      v[Figure.DISK_WRITTEN.ordinal()] = random.nextInt(300_000);
      if (job.equals("ps")) {
        v[Figure.PARTS.ordinal()] = 390L + random.nextInt(20);
        v[Figure.PARTS_RUN.ordinal()] = 390 * 450_000L;
        v[Figure.PARTS_WAIT.ordinal()] = 390 * 150_000L;
        v[Figure.QUEUE.ordinal()] = 2L + random.nextInt(3);
      } else {
        boolean drags = name.equals(slow) && s >= now - 9;
        long steps = drags ? 52 : 97 + random.nextInt(6);
        v[Figure.STEPS.ordinal()] = steps;
        v[Figure.EXAMPLES.ordinal()] = steps * (drags ? 200 : 100);
        v[Figure.INPUT.ordinal()] = steps * (400_000L + random.nextInt(100_000));
        v[Figure.PULL.ordinal()] = steps * (1_700_000L + random.nextInt(300_000));
        v[Figure.COMPUTE.ordinal()] = steps * (drags ? 12_300_000L : 5_900_000L);
        v[Figure.PUSH.ordinal()] = steps * (1_400_000L + random.nextInt(200_000));
        v[Figure.LONGEST.ordinal()] = 14_000_000L + random.nextInt(9_000_000);
      }
      seconds.add(new Second(s, v));
    }
    boolean up = !name.equals(gone);
    long step = now % 10_000 * 10;
    TaskFacts.Builder facts =
        TaskFacts.newBuilder()
            .setVersion("test")
            .setHost("host" + (job.equals("ps") ? 0 : 1))
            .setPid(4000)
            .setProcessors(2)
            .setResidentBytes(400L << 20)
            .setHeapBytes(90L << 20)
            .setTensorBytes(12L << 20)
            .putNotes("job", "mnist" + suffix)
            .putNotes("mode", "async");
    if (name.startsWith("worker/0")) {
      facts
          .putNotes("folder", folder == null ? "" : folder.toString())
          .putGauges("step", (double) step)
          .putGauges("steps", 100_000)
          .putGauges("loss", 0.05 + 2.0 / (1 + step / 8000.0) + (now % 7) * 0.004)
          .putGauges("staleness", 2.1)
          .putGauges("saved_step", (double) Math.max(0, step - 300))
          .putGauges("saved_at", (double) (now - 31));
    }
    String ps = "ps/0" + suffix;
    return new TaskState(
        "127.0.0.1:2222",
        facts.build(),
        1.2,
        0.3,
        1,
        job.equals("ps")
            ? Map.of("worker/0" + suffix, 4e7, "worker/1" + suffix, 4e7, "worker/2" + suffix, 4e7)
            : Map.of(ps, 3e7),
        new TaskFigures(
            name,
            job,
            up ? null : "connection refused: nothing listens there",
            up ? 0 : 4.2,
            facts.getHost(),
            2,
            job.equals("ps") ? "" : "compute",
            0.01,
            seconds,
            job.equals("ps") ? Map.of() : Map.of(ps, name.equals(slow) ? 0.11 : 0.34)));
  }

  @Override
  public List<JobVerdict> blamed() {
    JobVerdict v = state().verdict();
    return v.state() == JobVerdict.State.SLOW ? List.of(v) : List.of();
  }

  @Override
  public StepTimeline record(int steps) {
    return new StepTimeline();
  }

  @Override
  public JobLog log() {
    return log;
  }
}
