package dev.millrace.interop.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.millrace.cli.Millrace;
import dev.millrace.interop.ChildProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Programs of Millrace under other systems' launchers. */
class ForeignLauncherTest {
  @Test
  @Timeout(180)
  void mpirunStartsTheRingThatLearnsDigits(@TempDir Path folder) throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/mpirun")), "Open MPI is not installed");
    List<String> command =
        new ArrayList<>(List.of("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "4"));
    command.addAll(
        ChildProcess.java(
            Millrace.class,
            List.of("train", "mnist", "--mode", "ring", "--model", "softmax", "--steps", "100")));
    command.addAll(List.of("--log-dir", folder.toString()));
    ProcessBuilder b = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
    // A busy machine may keep a rank from showing that it lives.
    b.environment().put("MILLRACE_LIVENESS_TIMEOUT", "40");
    Process p = b.start();
    List<String> lines;
    try (Stream<String> out = p.inputReader().lines()) {
      lines = out.toList();
    } finally {
      p.destroy();
    }
    assertTrue(p.waitFor(60, TimeUnit.SECONDS));
    assertEquals(0, p.exitValue(), lines.toString());
    List<String> last = lines.stream().filter(l -> l.contains("test accuracy")).toList();
    assertEquals(1, last.size(), lines.toString());
    assertEquals(
        1, lines.stream().filter(l -> l.startsWith("step 100/100  loss")).count(), "rank 0 only");
    assertTrue(Double.parseDouble(last.getFirst().split(" ")[2]) > 80, last.getFirst());
  }
}
