package dev.millrace.interop.failure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.checkpoint.CheckpointFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * The rows of docs/failures.md, one after the other, on one job of real processes per mode: it must
 * survive them all. Each happens at a random moment; {@code -Dmillrace.seed=N} repeats the moments.
 * After each row every worker trains again, at a step that neither went back behind the last
 * checkpoint nor was lost without need, and the last checkpoint can be read and holds as many
 * updates as its step says.
 */
class FailureTableTest {
  private static final long SEED = Long.getLong("millrace.seed", System.nanoTime() % 100_000);
  private static final List<String> WORKERS = List.of("worker/0", "worker/1");
  private static final String CHIEF = "worker/0";

  /** The most a lost process may take to be noticed, with its machine too busy to look. */
  private static final double NOTICED_SECONDS = 15;

  /** A worker may report a step that was current before its own update, or another's. */
  private static final int SLACK = 3;

  @TempDir Path folder;

  private final Random random = new Random(SEED);
  private TrainingJob job;
  private int lost;

  /** Whether all rows so far were survived; else the next would only wait in vain. */
  private boolean whole;

  /** Something that goes wrong, and is put right again. */
  @FunctionalInterface
  private interface Event {
    void happen() throws Exception;
  }

  @AfterEach
  void end() {
    if (job != null) {
      job.close();
    }
  }

  private static void say(String line) {
    System.out.println("[seed " + SEED + "] " + line);
  }

  @TestFactory
  Stream<DynamicTest> asynchronousTrainingSurvives() {
    return rows("async", 1);
  }

  @TestFactory
  Stream<DynamicTest> boundedTrainingSurvives() {
    return rows("bounded", 1);
  }

  @TestFactory
  Stream<DynamicTest> synchronousTrainingSurvives() {
    return rows("sync", 2);
  }

  private Stream<DynamicTest> rows(String mode, int servers) {
    boolean sync = mode.equals("sync");
    job = new TrainingJob(mode, servers, WORKERS.size(), folder);
    job.startAll();
    String ps = "ps/" + random.nextInt(servers);
    String any = List.of("ps/0", "worker/0", "worker/1").get(random.nextInt(3));
    return Stream.of(
        dynamicTest("the chief is killed during start-up", this::chiefKilledDuringStart),
        row("a worker is killed", false, () -> workerKilled(sync)),
        row("the chief is killed", false, this::chiefKilled),
        row(ps + " is killed", true, () -> killedAndBack(ps)),
        row(
            "a worker and " + ps + " are killed at once",
            true,
            () -> killedAndBack("worker/1", ps)),
        row("the chief and " + ps + " are killed at once", true, () -> killedAndBack(CHIEF, ps)),
        row("the chief is killed during a save", false, () -> killedDuringSave(CHIEF)),
        row(ps + " is killed during a save", true, () -> killedDuringSave(ps)),
        row("a worker is paused for 6 s", false, () -> paused("worker/1", sync ? CHIEF : null)),
        row("the chief is paused for 6 s", false, () -> paused(CHIEF, "worker/1")),
        row(ps + " is paused for 6 s", false, () -> paused(ps, null)),
        dynamicTest(any + " is told to terminate", () -> terminated(any, servers)));
  }

  /**
   * One row of the table.
   *
   * @param losesVariables whether training has to go back to a checkpoint
   */
  private DynamicTest row(String what, boolean losesVariables, Event event) {
    return dynamicTest(
        what,
        () -> {
          assumeTrue(whole, "the job is broken");
          whole = false;
          moment();
          long saved = savedStep();
          long before = job.highestStep();
          long begun = System.nanoTime();
          event.happen();
          double back = secondsSince(begun);
          WORKERS.forEach(w -> job.awaitSteps(w, 1));
          long lowest = WORKERS.stream().mapToLong(job::lastStep).min().orElseThrow();
          WORKERS.forEach(w -> job.awaitSteps(w, 3));
          say(
              String.format(
                  Locale.ROOT,
                  "%s: at step %d, saved at %d; put right after %.1f s, all train again after %.1f"
                      + " s, at step %d",
                  what,
                  before,
                  saved,
                  back,
                  secondsSince(begun),
                  lowest));
          long least = losesVariables ? saved : before;
          assertTrue(
              lowest >= least - SLACK,
              "training went on at step " + lowest + " rather than from " + least);
          checkCheckpoint(saved);
          whole = true;
        });
  }

  /** Some time in which the job trains. */
  private void moment() throws InterruptedException {
    WORKERS.forEach(w -> job.awaitSteps(w, 2));
    TimeUnit.MILLISECONDS.sleep(random.nextInt(400));
  }

  private static double secondsSince(long nanos) {
    return (System.nanoTime() - nanos) / 1e9;
  }

  private void chiefKilledDuringStart() throws Exception {
    TimeUnit.MILLISECONDS.sleep(random.nextInt(1500));
    job.kill(CHIEF);
    lost++;
    job.start(CHIEF);
    WORKERS.forEach(w -> job.awaitSteps(w, 3));
    TrainingJob.await(() -> CheckpointFolder.latest(folder).isPresent(), () -> "a checkpoint");
    whole = true;
  }

  /** Asynchronous workers do not notice the loss of another; synchronous ones wait for it. */
  // README claim: hang-named
  private void workerKilled(boolean sync) throws Exception {
    long seen = job.logSize(CHIEF);
    long begun = System.nanoTime();
    job.kill("worker/1");
    lost++;
    if (sync) {
      awaitNamed(CHIEF, seen, "worker/1", begun);
    } else {
      job.awaitSteps(CHIEF, 10);
    }
    job.start("worker/1");
    job.awaitSteps("worker/1", 1);
  }

  /** Whatever the mode, the other worker says that nothing is saved. */
  private void chiefKilled() throws Exception {
    long seen = job.logSize("worker/1");
    long begun = System.nanoTime();
    job.kill(CHIEF);
    lost++;
    awaitNamed("worker/1", seen, CHIEF, begun);
    TrainingJob.await(
        () -> job.log("worker/1", seen).contains("nothing is saved until it is back"),
        () -> "worker/1 to say that nothing is saved");
    job.start(CHIEF);
  }

  /** A survivor, which has no connection to the other task, says that it does not answer. */
  private void awaitNamed(String survivor, long from, String other, long begun) {
    TrainingJob.await(
        () -> Pattern.compile(other + ",? does not answer").matcher(job.log(survivor, from)).find(),
        () -> survivor + " to name " + other + "; " + job.log(survivor, from));
    double seconds = secondsSince(begun);
    say(
        String.format(
            Locale.ROOT,
            "  %s says that %s does not answer, after %.1f s",
            survivor,
            other,
            seconds));
    assertTrue(seconds < NOTICED_SECONDS, "named after " + seconds + " s");
  }

  private void killedAndBack(String... names) throws Exception {
    List<String> survivors = WORKERS.stream().filter(w -> !List.of(names).contains(w)).toList();
    long[] seen = survivors.stream().mapToLong(job::logSize).toArray();
    long begun = System.nanoTime();
    job.kill(names);
    lost += names.length;
    for (String name : names) {
      if (name.startsWith("ps")) {
        awaitNotice(survivors, seen, name, begun);
      }
    }
    for (String name : names) {
      job.start(name);
    }
  }

  /**
   * A survivor says which parameter server was lost, soon; not all, as a synchronous worker that
   * waits for its token asks nothing of the others.
   */
  private void awaitNotice(List<String> survivors, long[] from, String lostTask, long begun) {
    String[] parts = lostTask.split("/");
    String name = "(/job:" + parts[0] + "/replica:0/task:" + parts[1] + "|" + lostTask + ")";
    Pattern notice = Pattern.compile("(?s)A task was lost; opening a new session: .*" + name);
    TrainingJob.await(
        () -> {
          for (int i = 0; i < from.length; i++) {
            if (notice.matcher(job.log(survivors.get(i), from[i])).find()) {
              return true;
            }
          }
          return false;
        },
        () -> "a worker to notice the loss of " + lostTask);
    double seconds = secondsSince(begun);
    say(String.format(Locale.ROOT, "  the loss of %s is noticed after %.1f s", lostTask, seconds));
    assertTrue(seconds < NOTICED_SECONDS, "noticed after " + seconds + " s");
  }

  /** Kills while the files of a checkpoint are being written. */
  private void killedDuringSave(String name) throws Exception {
    TrainingJob.await(this::isSaving, () -> "a save to begin");
    killedAndBack(name);
  }

  private boolean isSaving() {
    try (Stream<Path> files = Files.list(folder)) {
      return files.anyMatch(f -> f.getFileName().toString().matches(".*_temp.*|.*tempstate.*"));
    } catch (IOException e) {
      return false;
    }
  }

  /** Pauses a task, for at least as long as {@code survivor} takes to name it; null for none. */
  // README claim: hang-named
  private void paused(String name, String survivor) throws Exception {
    long seen = survivor == null ? 0 : job.logSize(survivor);
    long begun = System.nanoTime();
    job.signal("STOP", name);
    TimeUnit.SECONDS.sleep(6);
    if (survivor != null) {
      awaitNamed(survivor, seen, name, begun);
    }
    job.signal("CONT", name);
  }

  private long savedStep() {
    return step(CheckpointFolder.latest(folder).orElseThrow());
  }

  private static long step(Path checkpoint) {
    String name = checkpoint.getFileName().toString();
    return Long.parseLong(name.substring(name.lastIndexOf('-') + 1));
  }

  /** The last checkpoint is whole, not older than {@code saved}, and its values fit its step. */
  private void checkCheckpoint(long saved) {
    Path latest = CheckpointFolder.latest(folder).orElseThrow();
    try (BundleReader reader = new BundleReader(latest);
        Tensor step = reader.read("global_step");
        Tensor w = reader.read("w");
        Tensor ballast = reader.read("ballast")) {
      assertTrue(step.longValue() >= saved, latest + " is older than step " + saved);
      // Later than its name, if others have trained on while the chief saved.
      assertTrue(step.longValue() >= step(latest) - SLACK, latest + " has step " + step);
      assertTrue(
          Math.abs(w.floatValue() - step.longValue()) <= SLACK + lost,
          latest + " has seen " + w.floatValue() + " updates by step " + step.longValue());
      assertEquals(.5f, (float) ballast.doubleAt(ballast.elements() - 1));
    }
  }

  /** One task is told to terminate: all end well, the model saved as it was. */
  private void terminated(String name, int servers) throws Exception {
    assumeTrue(whole, "the job is broken");
    moment();
    long before = job.highestStep();
    long begun = System.nanoTime();
    job.signal("TERM", name);
    for (String w : WORKERS) {
      assertEquals(0, job.awaitExit(w), () -> job.log(w, 0));
    }
    for (int i = 0; i < servers; i++) {
      assertEquals("null", job.awaitOutcome("ps/" + i));
      assertEquals(0, job.awaitExit("ps/" + i));
    }
    say(
        String.format(
            Locale.ROOT,
            "%s told to terminate: all have left after %.1f s",
            name,
            secondsSince(begun)));
    checkCheckpoint(before - SLACK);
    assertTrue(!isSaving(), "a save was cut off");
  }

  @Test
  void failureOfTheChiefEndsTheJobWithItsCause() throws Exception {
    job = new TrainingJob("async", 1, WORKERS.size(), folder);
    job.startAll();
    moment();
    job.tell(CHIEF, "nan");
    assertEquals(1, job.awaitExit(CHIEF));
    assertTrue(job.awaitOutcome("ps/0").contains("worker/0 failed: The loss"));
    assertEquals(1, job.awaitExit("ps/0"));
    job.awaitExit("worker/1");
    checkCheckpoint(0);
  }

  /** What a worker spoils is never saved by the chief, which sees it a step later. */
  @Test
  void nanOfAWorkerEndsTheJobBeforeItIsSaved() throws Exception {
    job = new TrainingJob("async", 1, WORKERS.size(), folder);
    job.startAll();
    moment();
    long saved = savedStep();
    job.tell("worker/1", "nan");
    assertEquals(1, job.awaitExit("worker/1"));
    assertEquals(1, job.awaitExit(CHIEF));
    assertTrue(job.awaitOutcome("ps/0").contains("NaN"));
    checkCheckpoint(saved);
  }
}
