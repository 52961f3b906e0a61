package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.HeldPorts;
import dev.millrace.testkit.Slow;
import dev.millrace.train.checkpoint.CheckpointFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Training as whole processes: how a job ends. */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(300)
class TrainMnistTest {
  private static final long PATIENCE_SECONDS = 250;

  @TempDir Path folder;

  private static long step(Path checkpoint) {
    String name = checkpoint.getFileName().toString();
    return Long.parseLong(name.substring(name.lastIndexOf('-') + 1));
  }

  // README claim: save-sigterm
  @Test
  void aWholeJobThatIsToldToTerminateSavesAndLeavesNobodyBehind() throws Exception {
    jobThatEndsBy("sync", ProcessHandle::destroy);
  }

  @Slow
  @Test
  void tasksLeaveWithTheProcessThatStartedThemEvenIfItIsKilled() throws Exception {
    jobThatEndsBy("async", ProcessHandle::destroyForcibly);
  }

  /** Starts a job, ends the process that started it, and sees that all leave with a save. */
  private void jobThatEndsBy(String mode, Consumer<ProcessHandle> end) throws Exception {
    try (RunningMillrace job = wholeJob(mode, "1000000")) {
      job.awaitOutput("step ");
      List<ProcessHandle> tasks = awaitThreeTasks(job.process());
      end.accept(job.process().toHandle());
      job.awaitExit();
      for (ProcessHandle task : tasks) {
        task.onExit().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      }
      assertTrue(step(CheckpointFolder.latest(folder).orElseThrow()) > 0, "nothing was saved");
    }
  }

  /** What a job has started: in an asynchronous one the chief does not wait for the last task. */
  private static List<ProcessHandle> awaitThreeTasks(Process job) throws Exception {
    return List.of(
        awaitTask(job, "ps", 0), awaitTask(job, "worker", 0), awaitTask(job, "worker", 1));
  }

  /** The JVM of a task, which its environment tells from the shell around it. */
  private static ProcessHandle awaitTask(Process job, String name, int index) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (true) {
      for (ProcessHandle p : job.descendants().toList()) {
        if (p.info().command().orElse("").endsWith("/java")
            && environment(p).contains("JOB_NAME=" + name)
            && environment(p).contains("TASK_INDEX=" + index)) {
          return p;
        }
      }
      assertTrue(System.nanoTime() < end, "there is no " + name + "/" + index);
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  private static List<String> environment(ProcessHandle p) {
    try {
      return List.of(Files.readString(Path.of("/proc/" + p.pid() + "/environ")).split("\0"));
    } catch (IOException e) {
      return List.of(); // It has ended.
    }
  }

  @Slow
  @Test
  void tasksThatAreKilledAreBackAndTheJobMakesAllItsSteps() throws Exception {
    try (RunningMillrace job = wholeJob("async", "4000")) {
      job.awaitOutput("step ");
      for (String task : List.of("worker/1", "ps/0", "worker/0")) {
        String[] part = task.split("/");
        awaitTask(job.process(), part[0], Integer.parseInt(part[1])).destroyForcibly();
        job.awaitError(task + " was killed by signal 9; it starts again in 1 s (restart 1 of 3)");
      }
      assertEquals(0, job.awaitExit(), job::err);
      assertTrue(job.out().contains("step 4000/4000"), job::out);
      assertTrue(step(CheckpointFolder.latest(folder).orElseThrow()) >= 4000, job::out);
    }
  }

  @Slow
  @Test
  void aRankThatIsKilledStartsTheRingAgainFromTheLastSave() throws Exception {
    try (RunningMillrace job = wholeJob("ring", "2000")) {
      job.awaitOutput("step ");
      ProcessHandle rank =
          job.process()
              .descendants()
              .filter(p -> p.info().command().orElse("").endsWith("/java"))
              .filter(p -> environment(p).contains("MILLRACE_RANK=1"))
              .findFirst()
              .orElseThrow();
      rank.destroyForcibly();
      job.awaitError(
          "rank 1 was killed by signal 9; all tasks start again in 1 s (restart 1 of 3)");
      assertEquals(0, job.awaitExit(), job::err);
      assertEquals(2000, step(CheckpointFolder.latest(folder).orElseThrow()));
    }
  }

  @Slow
  @ParameterizedTest
  @ValueSource(strings = {"worker/1", "ps/0"})
  void aTaskThatIsToldToTerminateEndsTheWholeJobWithOneSave(String told) throws Exception {
    try (RunningMillrace job = wholeJob("async", "1000000")) {
      // The second line of progress: both workers train, so that both hear it.
      job.awaitOutput(" steps/s");
      List<ProcessHandle> tasks = awaitThreeTasks(job.process());
      String[] part = told.split("/");
      awaitTask(job.process(), part[0], Integer.parseInt(part[1])).destroy();
      assertEquals(143, job.awaitExit(), job::err);
      assertFalse(job.err().contains("starts again"), job::err);
      for (ProcessHandle task : tasks) {
        task.onExit().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      }
      String shown = job.out().substring(job.out().lastIndexOf("step ") + 5);
      long last = Long.parseLong(shown.substring(0, shown.indexOf('/')));
      assertTrue(step(CheckpointFolder.latest(folder).orElseThrow()) >= last, shown);
      try (Stream<Path> files = Files.list(folder)) {
        List<Path> saves = files.filter(f -> f.toString().endsWith(".index")).toList();
        assertEquals(2, saves.size(), "one at the first step and one at the end: " + saves);
      }
    }
  }

  @Slow
  @Test
  void aVerboseJobShowsTheLinesOfEachWorker() throws Exception {
    try (RunningMillrace job = wholeJob("async", "20", "--verbose")) {
      assertEquals(0, job.awaitExit(), job::err);
      assertTrue(job.out().contains("[worker/0] test accuracy"), job::out);
      assertTrue(job.out().contains("[worker/1] "), job::out);
    }
  }

  private RunningMillrace wholeJob(String mode, String steps, String... more) throws IOException {
    List<String> args = new ArrayList<>(List.of("train", "mnist", "--model", "softmax"));
    args.addAll(List.of("--batch-size", "10", "--mode", mode, "--steps", steps));
    args.addAll(List.of("--log-dir", folder.toString()));
    args.addAll(List.of(more));
    return RunningMillrace.start(args.toArray(String[]::new));
  }

  /** As a TFJob gives it to its pods; the evaluator stands outside of the cluster. */
  // README claim: run-config
  @Slow
  @Test
  void theChiefOfTfConfigLeadsAndTheEvaluatorFollows() throws Exception {
    try (HeldPorts ports = HeldPorts.take(4)) {
      List<String> at = ports.addresses();
      String cluster =
          "{\"ps\": [\"%s\"], \"chief\": [\"%s\"], \"worker\": [\"%s\", \"%s\"]}"
              .formatted(at.get(0), at.get(1), at.get(2), at.get(3));
      List<RunningMillrace> tasks = new ArrayList<>();
      try {
        for (String task : List.of("ps/0", "chief/0", "worker/0", "worker/1", "evaluator/0")) {
          String[] part = task.split("/");
          String config =
              "{\"cluster\": %s, \"task\": {\"type\": \"%s\", \"index\": %s}}"
                  .formatted(cluster, part[0], part[1]);
          tasks.add(
              RunningMillrace.start(
                  Map.of("TF_CONFIG", config),
                  "train",
                  "mnist",
                  "--model",
                  "softmax",
                  "--batch-size",
                  "10",
                  "--mode",
                  "sync",
                  "--steps",
                  "40",
                  "--log-dir",
                  folder.toString()));
        }
        for (RunningMillrace task : tasks) {
          assertEquals(0, task.awaitExit(), () -> task.err());
        }
        List<String> out = tasks.stream().map(RunningMillrace::out).toList();
        assertTrue(out.get(1).contains("test accuracy"), out.get(1));
        for (String worker : out.subList(2, 4)) {
          assertTrue(worker.contains("step 40/40  ") && worker.contains(" own steps"), worker);
          assertFalse(worker.contains("test accuracy"), worker);
        }
        assertEquals(lastLine(out.get(1)), lastLine(out.get(4)), "the same model was tested");
        assertTrue(out.get(4).contains("step 40/40  evaluation:"), out.get(4));
        assertEquals(40, step(CheckpointFolder.latest(folder).orElseThrow()));
        assertTrue(Files.isDirectory(folder.resolve("eval")), "no summaries of the evaluator");
        assertTrue(Files.isDirectory(folder.resolve("chief_0")), "no summaries of the chief");
      } finally {
        tasks.forEach(RunningMillrace::close);
      }
    }
  }

  /** As when the node of one of them is drained: what takes their places goes on from the save. */
  @Slow
  @ParameterizedTest
  @ValueSource(strings = {"worker", "ps"})
  void tasksLeaveWithTheCodeOfSigtermWhenOneIsToldTo(String drained) throws Exception {
    String[] args = {"--steps", "1000000", "--log-dir", folder.toString()};
    try (HeldPorts ports = HeldPorts.take(3);
        RunningMillrace ps = task(ports, "ps", 0, args);
        RunningMillrace chief = task(ports, "worker", 0, args);
        RunningMillrace other = task(ports, "worker", 1, args)) {
      // Told earlier, it might not yet know how to pass the word on.
      other.awaitOutput("step ");
      RunningMillrace told = drained.equals("ps") ? ps : other;
      // By its handle, as Process.destroy would also close what it still says.
      told.process().toHandle().destroy();
      for (RunningMillrace task : List.of(ps, chief, other)) {
        assertEquals(143, task.awaitExit(), task::err);
        String why = task == told ? "Told to terminate" : "millrace: The job was told to stop";
        assertTrue(task.err().contains(why), task.err());
        // Its time would be over only if the others had not left.
        assertFalse(task.err().contains("did not stop within"), task.err());
      }
      assertTrue(step(CheckpointFolder.latest(folder).orElseThrow()) > 0, "nothing was saved");
    }
  }

  @Test
  void aParameterServerWithoutWorkersLeavesAtOnceWhenItIsTold() throws Exception {
    try (HeldPorts ports = HeldPorts.take(3);
        RunningMillrace ps = task(ports, "ps", 0)) {
      ps.awaitError("Serving;");
      long start = System.nanoTime();
      ps.process().destroy();
      assertEquals(143, ps.awaitExit(), ps::err);
      // Less than the time workers would have to save the model.
      assertTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(50));
    }
  }

  /** At the start, as there is no folder, and when the chief that would save is gone. */
  // README claim: save-folder
  @Test
  void itIsSaidThatNothingIsSaved() throws Exception {
    String[] args = {"--steps", "100000000"};
    try (HeldPorts ports = HeldPorts.take(3);
        RunningMillrace _ = task(ports, "ps", 0, args);
        RunningMillrace chief = task(ports, "worker", 0, args);
        RunningMillrace other = task(ports, "worker", 1, args)) {
      chief.awaitError("Training has no folder, so nothing is saved");
      other.awaitOutput("step ");
      chief.process().destroyForcibly();
      other.awaitError("The chief, worker/0, does not answer");
      other.awaitError("nothing is saved until it is back");
    }
  }

  /** One task of a parameter server and two workers. */
  private static RunningMillrace task(HeldPorts ports, String job, int index, String... args)
      throws IOException {
    List<String> at = ports.addresses();
    List<String> all = new ArrayList<>(List.of("train", "mnist", "--model", "softmax"));
    all.addAll(List.of("--ps_hosts", at.get(0), "--worker_hosts", at.get(1) + "," + at.get(2)));
    all.addAll(List.of("--job_name", job, "--task_index", Integer.toString(index)));
    all.addAll(List.of(args));
    return RunningMillrace.start(all.toArray(String[]::new));
  }

  /** Alone, and as the only rank of a launcher, which counts although {@code --workers} is 2. */
  @Slow
  @Test
  void aRingMayHaveOneRank() throws Exception {
    String[] train = {
      "train", "mnist", "--model", "softmax", "--mode", "ring", "--steps", "20", "--log-dir"
    };
    try (RunningMillrace whole =
            RunningMillrace.start(with(train, folder + "/a", "--workers", "1"));
        RunningMillrace rank =
            RunningMillrace.start(
                Map.of("MILLRACE_RANK", "0", "MILLRACE_SIZE", "1"), with(train, folder + "/b"))) {
      assertEquals(0, whole.awaitExit(), whole::err);
      assertTrue(whole.out().contains("ring: 1 rank, 20 steps"), whole::out);
      assertTrue(whole.out().contains("checkpoint and summaries are in " + folder), whole::out);
      assertEquals(0, rank.awaitExit(), rank::err);
      assertFalse(rank.out().contains("Training"), rank::out);
      assertEquals(20, step(CheckpointFolder.latest(folder.resolve("a")).orElseThrow()));
      assertEquals(20, step(CheckpointFolder.latest(folder.resolve("b")).orElseThrow()));
    }
  }

  private static String[] with(String[] args, String... more) {
    return Stream.concat(Stream.of(args), Stream.of(more)).toArray(String[]::new);
  }

  private static String lastLine(String text) {
    return text.strip().substring(text.strip().lastIndexOf('\n') + 1);
  }
}
