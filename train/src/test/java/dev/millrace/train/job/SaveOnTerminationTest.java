package dev.millrace.train.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.checkpoint.CheckpointFolder;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.session.LineModel;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A program that trains as the documentation shows, in a process of its own, gets SIGTERM. */
class SaveOnTerminationTest {
  private static final String STEP = "step ";

  @TempDir Path folder;

  private final List<Process> started = new ArrayList<>();

  /** Never ends its training. */
  private static final class Endless implements SessionRunHook {
    @Override
    public void end(Session session) {
      System.out.println("ending");
      while (true) {
        LockSupport.park();
      }
    }
  }

  /** Arguments: the folder, the last step, and whether the end of training takes for ever. */
  public static void main(String[] args) {
    LineModel m = new LineModel();
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withFolder(Path.of(args[0]))
            .withLogEverySteps(0)
            .withHooks(StopAtStepHook.at(m.step, Long.parseLong(args[1])));
    if (args.length > 2) {
      settings = settings.withHooks(new Endless());
    }
    try (var session = MonitoredTrainingSession.start(m.scope, LocalSession::new, settings)) {
      session.loop(
          s -> {
            List<Tensor> r = s.run(m.batch(1, 2), List.of(m.loss), List.of(m.train));
            r.forEach(Tensor::close);
            System.out.println(STEP + m.stepOf(s.raw()));
          });
    }
    System.out.println("done");
  }

  @AfterEach
  void endProcesses() {
    started.forEach(Process::destroyForcibly);
    said().delete();
  }

  private Process start(String... args) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-modules=jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                SaveOnTerminationTest.class.getName(),
                folder.toString()));
    command.addAll(List.of(args));
    Process p = new ProcessBuilder(command).redirectError(said()).start();
    started.add(p);
    return p;
  }

  /** What the process said last on standard error: why it failed, if it did. */
  private File said() {
    return folder.resolveSibling(folder.getFileName() + ".err").toFile();
  }

  private static String lineThatStarts(BufferedReader out, String with) throws IOException {
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      if (line.startsWith(with)) {
        return line;
      }
    }
    throw new AssertionError("the process ended without '" + with + "'");
  }

  private void assertExit(int code, Process p) throws Exception {
    assertTrue(p.waitFor(60, TimeUnit.SECONDS), "the process has not ended");
    assertEquals(code, p.exitValue(), () -> contents(said()));
  }

  private static String contents(File file) {
    try {
      return Files.readString(file.toPath());
    } catch (IOException e) {
      return e.toString();
    }
  }

  // README claim: save-sigterm
  @Test
  void sigtermSavesTheLastAcknowledgedStepAndTrainingGoesOnThere() throws Exception {
    Process first = start("1000000000");
    long last;
    try (BufferedReader out = first.inputReader()) {
      String before = lineThatStarts(out, STEP + "20");
      first.toHandle().destroy(); // SIGTERM; Process.destroy would close its output
      List<String> rest = out.readAllLines();
      assertExit(143, first);
      assertTrue(!rest.contains("done"), "the program took its training for complete");
      String lastLine = rest.isEmpty() ? before : rest.getLast();
      last = Long.parseLong(lastLine.substring(STEP.length()));
    }
    assertEquals(
        folder.resolve("model.ckpt-" + last), CheckpointFolder.latest(folder).orElseThrow());
    Process second = start(Long.toString(last + 5));
    try (BufferedReader out = second.inputReader()) {
      assertEquals(STEP + (last + 1), lineThatStarts(out, STEP));
      assertEquals("done", out.readAllLines().getLast());
    }
    assertExit(0, second);
  }

  @Test
  void secondSigtermEndsTheProcessAtOnce() throws Exception {
    Process p = start("1000000000", "endless");
    try (BufferedReader out = p.inputReader()) {
      lineThatStarts(out, STEP);
      p.toHandle().destroy();
      lineThatStarts(out, "ending");
      long begun = System.nanoTime();
      // A signal that follows at once would be taken for the same.
      while (!p.waitFor(500, TimeUnit.MILLISECONDS)) {
        assertTrue(System.nanoTime() - begun < 40_000_000_000L, "the process has not ended");
        p.toHandle().destroy();
      }
      assertEquals(143, p.exitValue());
    }
  }
}
