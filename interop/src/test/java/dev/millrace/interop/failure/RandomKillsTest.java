package dev.millrace.interop.failure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.checkpoint.CheckpointFolder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * Jobs of real processes, asynchronous, bounded and synchronous in turn, of which the chief, a
 * worker or the parameter server is killed at random moments and started again a second later.
 * Every job ends at its last step, well, with a checkpoint that verifies; and while anything is
 * down, each worker that was not killed trains or logs: none is silent for more than {@value
 * #SILENT_SECONDS} s.
 *
 * <p>{@code -Dmillrace.kills=50} makes it the long run, {@code -Dmillrace.seed=N} chooses the
 * kills.
 */
class RandomKillsTest {
  private static final long SEED = Long.getLong("millrace.seed", 7);
  private static final int KILLS = Integer.getInteger("millrace.kills", 6);
  private static final int KILLS_PER_JOB = KILLS <= 6 ? 2 : 4;
  private static final List<String> MODES = List.of("async", "sync", "bounded");
  private static final List<String> TASKS = List.of("worker/0", "worker/1", "ps/0");
  private static final List<String> WORKERS = TASKS.subList(0, 2);
  private static final double SILENT_SECONDS = 10;

  /** How long a killed task is down. */
  private static final double DOWN_SECONDS = 1;

  /** Steps from the last recovery to the end of a job. */
  private static final int LAST_STEPS = 40;

  /** A worker may report a step that was current before its own update, or another's. */
  private static final int SLACK = 3;

  @TempDir Path folders;

  private final Random random = new Random(SEED);

  /** Tasks to kill next: all of them, in random order, again and again. */
  private final List<String> next = new ArrayList<>();

  private static double secondsSince(long nanos) {
    return (System.nanoTime() - nanos) / 1e9;
  }

  private static void say(String format, Object... args) {
    System.out.println("[seed " + SEED + "] " + String.format(Locale.ROOT, format, args));
  }

  @TestFactory
  Stream<DynamicTest> killedTasksDoNotEndAJob() {
    List<DynamicTest> jobs = new ArrayList<>();
    for (int done = 0; done < KILLS; done += KILLS_PER_JOB) {
      int number = jobs.size();
      String mode = MODES.get(number % MODES.size());
      int kills = Math.min(KILLS_PER_JOB, KILLS - done);
      jobs.add(
          dynamicTest(
              "job %d, %s, %d kills".formatted(number, mode, kills),
              () -> runJob(number, mode, kills)));
    }
    return jobs.stream();
  }

  private void runJob(int number, String mode, int kills) throws Exception {
    Path folder = folders.resolve("job-" + number);
    try (TrainingJob job = new TrainingJob(mode, 1, WORKERS.size(), folder)) {
      job.startAll();
      WORKERS.forEach(w -> job.awaitSteps(w, 2));
      for (int i = 0; i < kills; i++) {
        killAndRestart(job, mode, nextToKill(), random.nextDouble());
      }
      long last = job.highestStep() + LAST_STEPS;
      WORKERS.forEach(w -> job.tell(w, "last " + last));
      for (String w : WORKERS) {
        assertEquals(0, job.awaitExit(w), () -> job.log(w, 0));
      }
      assertEquals("null", job.awaitOutcome("ps/0"));
      assertEquals(0, job.awaitExit("ps/0"));
      verify(folder, last, kills);
    }
  }

  private String nextToKill() {
    if (next.isEmpty()) {
      next.addAll(TASKS);
      Collections.shuffle(next, random);
    }
    return next.removeLast();
  }

  private static void killAndRestart(TrainingJob job, String mode, String name, double moment)
      throws IOException, InterruptedException {
    long training = System.nanoTime();
    TrainingJob.await(() -> secondsSince(training) > moment, () -> "the moment");
    long before = job.highestStep();
    Silence silence = new Silence(job, WORKERS.stream().filter(w -> !w.equals(name)).toList());
    long begun = System.nanoTime();
    job.kill(name);
    silence.await(() -> secondsSince(begun) > DOWN_SECONDS, () -> "a second to pass");
    job.start(name);
    Map<String, Long> steps = new HashMap<>();
    WORKERS.forEach(w -> steps.put(w, job.steps(w)));
    for (String w : WORKERS) {
      silence.await(
          () -> job.steps(w) >= steps.get(w) + 3,
          () -> w + " to train again after the loss of " + name + "; " + job.log(w, 0));
    }
    say(
        "%s: %s killed at step %d; all train again after %.1f s, at step %d; silent at most %.1f s",
        mode, name, before, secondsSince(begun), job.highestStep(), silence.longest);
    assertTrue(
        silence.longest <= SILENT_SECONDS,
        () ->
            "%s neither trained nor logged for %.1f s; %s"
                .formatted(silence.who, silence.longest, job.log(silence.who, 0)));
  }

  /** The longest time in which one of some workers neither reported a step nor logged. */
  private static final class Silence {
    private final TrainingJob job;
    private final List<String> survivors;
    private final Map<String, Long> seen = new HashMap<>();
    private final Map<String, Long> since = new HashMap<>();
    private double longest;
    private String who;

    Silence(TrainingJob job, List<String> survivors) {
      this.job = job;
      this.survivors = survivors;
      look();
    }

    private void look() {
      for (String w : survivors) {
        long sign = job.steps(w) + job.logSize(w);
        if (!Long.valueOf(sign).equals(seen.put(w, sign))) {
          since.put(w, System.nanoTime());
        }
        double silent = secondsSince(since.get(w));
        if (silent > longest) {
          longest = silent;
          who = w;
        }
      }
    }

    void await(BooleanSupplier condition, Supplier<String> what) {
      TrainingJob.await(
          () -> {
            look();
            return condition.getAsBoolean();
          },
          what);
    }
  }

  /** The last checkpoint is of the last step, whole, and has as many updates as its step says. */
  private static void verify(Path folder, long last, int kills) throws IOException {
    Path latest = CheckpointFolder.latest(folder).orElseThrow();
    Set<String> read = new HashSet<>();
    try (BundleReader reader = new BundleReader(latest)) {
      for (String name : reader.names()) {
        reader.read(name).close(); // checks its checksum
        read.add(name);
      }
      try (Tensor step = reader.read("global_step");
          Tensor w = reader.read("w")) {
        assertTrue(step.longValue() >= last, latest + " is of step " + step.longValue());
        assertTrue(
            Math.abs(w.floatValue() - step.longValue()) <= SLACK + kills,
            latest + " has seen " + w.floatValue() + " updates by step " + step.longValue());
      }
    }
    assertTrue(read.contains("ballast"), read.toString());
  }
}
