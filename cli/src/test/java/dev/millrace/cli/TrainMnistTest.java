package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.HeldPorts;
import dev.millrace.train.checkpoint.CheckpointFolder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Training as whole processes: how a job ends. */
class TrainMnistTest {
  private static final long PATIENCE_SECONDS = 100;

  @TempDir Path folder;

  private static long step(Path checkpoint) {
    String name = checkpoint.getFileName().toString();
    return Long.parseLong(name.substring(name.lastIndexOf('-') + 1));
  }

  private void awaitCheckpoint() throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (CheckpointFolder.latest(folder).isEmpty()) {
      assertTrue(System.nanoTime() < end, "there is no checkpoint in " + folder);
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  @Test
  void aWholeJobThatIsToldToTerminateSavesAndLeavesNobodyBehind() throws Exception {
    jobThatEndsBy("sync", ProcessHandle::destroy);
  }

  @Test
  void tasksLeaveWithTheProcessThatStartedThemEvenIfItIsKilled() throws Exception {
    jobThatEndsBy("async", ProcessHandle::destroyForcibly);
  }

  /** Starts a job, ends the process that started it, and sees that all leave with a save. */
  private void jobThatEndsBy(String mode, Consumer<ProcessHandle> end) throws Exception {
    try (RunningMillrace job =
        RunningMillrace.startBriefly(
            "train",
            "mnist",
            "--model",
            "softmax",
            "--mode",
            mode,
            "--steps",
            "1000000",
            "--log-dir",
            folder.toString())) {
      awaitCheckpoint();
      List<ProcessHandle> tasks = job.process().descendants().toList();
      end.accept(job.process().toHandle());
      job.awaitExit();
      for (ProcessHandle task : tasks) {
        task.onExit().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      }
      assertTrue(tasks.size() >= 3, "there were only " + tasks.size() + " tasks");
      assertTrue(step(CheckpointFolder.latest(folder).orElseThrow()) > 0, "nothing was saved");
    }
  }

  @Test
  void tasksStartedByHandLeaveTogether() throws Exception {
    try (HeldPorts ports = HeldPorts.take(3)) {
      List<String> at = ports.addresses();
      List<RunningMillrace> tasks = new ArrayList<>();
      try {
        for (String[] task : new String[][] {{"ps", "0"}, {"worker", "0"}, {"worker", "1"}}) {
          tasks.add(
              RunningMillrace.startBriefly(
                  "train",
                  "mnist",
                  "--model",
                  "softmax",
                  "--steps",
                  "40",
                  "--ps_hosts",
                  at.get(0),
                  "--worker_hosts",
                  at.get(1) + "," + at.get(2),
                  "--job_name",
                  task[0],
                  "--task_index",
                  task[1]));
        }
        for (RunningMillrace task : tasks) {
          assertEquals(0, task.awaitExit(), () -> task.err());
        }
        assertTrue(tasks.get(1).out().contains("test accuracy"), tasks.get(1).out());
      } finally {
        tasks.forEach(RunningMillrace::close);
      }
    }
  }
}
