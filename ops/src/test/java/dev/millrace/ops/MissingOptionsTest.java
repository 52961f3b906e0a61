package dev.millrace.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.tensor.VectorModule;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * A program that uses Millrace as a library, in a JVM with and without the options that make it
 * faster.
 */
class MissingOptionsTest {
  /** The program. */
  public static void main(String[] args) {
    System.out.println("nodes " + StandardOps.newGraph().size());
    System.out.println("loops: " + VectorModule.describe());
  }

  private static String run(int code, List<String> options) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), MissingOptionsTest.class.getName()));
    Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(p.waitFor(60, TimeUnit.SECONDS), "the program has not ended");
    assertEquals(code, p.exitValue(), said);
    return said;
  }

  @Test
  void withoutThemItRuns() throws Exception {
    String said = run(0, List.of());
    assertTrue(said.contains("nodes 0"), said);
    assertTrue(said.contains("loops: plain Java"), said);
    assertFalse(said.contains("NoClassDefFoundError"), said);
  }

  @Test
  void theVectorApiMayBeLoadedLate() throws Exception {
    String said = run(0, List.of(VectorModule.LATE_OPTION.split(" ")));
    assertTrue(said.contains("loops: Vector API"), said);
    // The JVM warns of an incubator module only if it is there from the start.
    assertFalse(said.contains("incubator"), said);
  }

  @Test
  void withThemItRuns() throws Exception {
    String said = run(0, List.of(VectorModule.JVM_OPTIONS.split(" ")));
    assertTrue(said.contains("nodes 0"), said);
  }
}
