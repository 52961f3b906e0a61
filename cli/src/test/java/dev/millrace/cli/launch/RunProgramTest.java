package dev.millrace.cli.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import dev.millrace.cli.RunningMillrace;
import dev.millrace.job.JobResult;
import dev.millrace.job.Mode;
import dev.millrace.testkit.Slow;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * {@code millrace run} with a program of module {@code job}, whose tasks are killed and stopped.
 */
@Slow
@Timeout(180)
class RunProgramTest {
  @TempDir Path folder;

  private RunningMillrace start(Mode mode, long steps) throws IOException {
    List<String> args = new ArrayList<>(List.of("run", "--mode", mode.toString(), "--show-all"));
    args.addAll(List.of("--logs", folder.resolve("logs").toString()));
    args.addAll(List.of("--", "-cp", System.getProperty("java.class.path")));
    args.addAll(List.of(SlopeProgram.class.getName(), "--steps", Long.toString(steps)));
    args.addAll(List.of("--log-dir", folder.resolve("model").toString()));
    return RunningMillrace.start(
        Map.of("TEST_FOLDER", folder.toString()), args.toArray(String[]::new));
  }

  private Map<String, Object> result() throws IOException {
    return JSON.std.mapFrom(Files.readString(folder.resolve("model").resolve(JobResult.FILE)));
  }

  private ProcessHandle process(String task) throws IOException {
    Path pids = folder.resolve(task.replace('/', '_') + ".pids");
    long pid = Long.parseLong(Files.readAllLines(pids).getLast());
    return ProcessHandle.of(pid).orElseThrow(() -> new AssertionError(task + " has ended"));
  }

  private void letGo() throws IOException {
    Files.createFile(folder.resolve("go"));
  }

  @ParameterizedTest
  @CsvSource({
    "LOCAL, worker/0",
    "ASYNC, ps/0",
    "SYNC, worker/1",
    "BOUNDED, worker/0",
    "RING, rank/1"
  })
  void aTaskThatIsKilledIsBackAndTheJobMakesAllItsSteps(Mode mode, String task) throws Exception {
    try (RunningMillrace launcher = start(mode, 200)) {
      launcher.awaitOutput("made 20 steps in " + (mode == Mode.RING ? "rank/0" : "worker/0"));
      launcher.awaitOutput("start 1 of " + task);
      assertTrue(process(task).destroyForcibly());
      if (mode == Mode.RING) {
        // The other ranks start again too, and must be able to end.
        letGo();
      }
      launcher.awaitOutput("start 2 of " + task);
      if (mode != Mode.RING) {
        letGo();
      }
      assertEquals(0, launcher.awaitExit(), launcher.err());
      String name = mode == Mode.RING ? "rank 1" : task;
      assertTrue(
          launcher.err().contains("millrace: " + name + " was killed by signal 9"), launcher.err());
    }
    assertEquals("ok", result().get("outcome"));
    long step = ((Number) result().get("step")).longValue();
    // Asynchronous workers may each be in a step when the last one is counted.
    assertTrue(step >= 200 && step <= 202, "step " + step);
  }

  @ParameterizedTest
  @CsvSource({
    "LOCAL, launcher",
    "ASYNC, launcher",
    "SYNC, worker/1",
    "BOUNDED, ps/0",
    "RING, rank/1",
    "RING, launcher"
  })
  void aJobThatIsToldToStopSavesOnceAndLosesNoStep(Mode mode, String told) throws Exception {
    letGo();
    try (RunningMillrace launcher = start(mode, 1_000_000_000)) {
      List<ProcessHandle> tasks = new ArrayList<>();
      for (String task : tasks(mode)) {
        if (!task.startsWith("ps")) {
          launcher.awaitOutput("made 20 steps in " + task);
        }
        tasks.add(process(task));
      }
      if (told.equals("launcher")) {
        launcher.process().toHandle().destroy();
      } else {
        assertTrue(process(told).destroy());
      }
      assertEquals(143, launcher.awaitExit(), launcher.err());
      assertFalse(launcher.err().contains("starts again"), launcher.err());
      for (ProcessHandle task : tasks) {
        task.onExit().get(30, TimeUnit.SECONDS);
      }
    }
    assertEquals("stopped", result().get("outcome"));
    long step = ((Number) result().get("step")).longValue();
    assertTrue(step >= 20, "step " + step);
    String saved = Files.readAllLines(folder.resolve("model").resolve("checkpoint")).getFirst();
    long savedStep = Long.parseLong(saved.replaceAll(".*-(\\d+)\"$", "$1"));
    assertEquals(step, savedStep);
    try (Stream<Path> files = Files.list(folder.resolve("model"))) {
      List<Path> saves = files.filter(f -> f.toString().endsWith(".index")).toList();
      assertEquals(2, saves.size(), "one at the first step and one at the end: " + saves);
    }
  }

  private static List<String> tasks(Mode mode) {
    return switch (mode) {
      case LOCAL -> List.of("worker/0");
      case RING -> List.of("rank/0", "rank/1");
      default -> List.of("worker/0", "worker/1", "ps/0");
    };
  }
}
