package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.testkit.Slow;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The command as users start it: {@code ./millrace} in a process of its own. */
@Execution(ExecutionMode.CONCURRENT)
class LauncherScriptTest {
  @Test
  void versionIsPrintedAndTheExitCodeIsZero() throws Exception {
    try (RunningMillrace m = RunningMillrace.start("--version")) {
      assertEquals(0, m.awaitExit(), m.err());
      assertTrue(m.out().startsWith("millrace "), m.out());
      assertEquals("", m.err());
    }
  }

  @Test
  void wrongUseIsOneSentenceAndExitCodeTwo() throws Exception {
    try (RunningMillrace m = RunningMillrace.start("train", "mnist", "--model", "resnet")) {
      assertEquals(2, m.awaitExit(), m.err());
      assertEquals("", m.out());
      assertTrue(m.err().startsWith("millrace: Invalid value for option '--model'"), m.err());
      assertEquals(1, m.err().lines().count(), m.err());
      // As it was typed, so that it can be typed again.
      Path script = RunningMillrace.sourceTree().resolve("millrace");
      assertTrue(m.err().contains("See " + script + " train mnist --help."), m.err());
    }
  }

  @Slow
  @Test
  void aFailureInOneTaskIsToldInItsWords(@TempDir Path dir) throws Exception {
    // A rate this large makes the loss NaN within a few steps.
    try (RunningMillrace m =
        RunningMillrace.start(
            "train",
            "mnist",
            "--model",
            "softmax",
            "--learning-rate",
            "1e38",
            "--workers",
            "1",
            "--log-dir",
            dir.toString())) {
      assertEquals(1, m.awaitExit(), m.err());
      // Told by the worker itself, or by the parameter server it told.
      assertTrue(m.err().contains("worker/0"), m.err());
      assertTrue(m.err().contains("NaN"), m.err());
      assertFalse(m.err().contains("\tat "), m.err());
    }
  }
}
