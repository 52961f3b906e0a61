package dev.millrace.cli.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cli.Ran;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class OpsCommandTest {
  @Test
  void anOpIsListedWithItsTypesAndItsGradient() {
    String out = Ran.millrace("ops", "matmul", "--tensorflow", "1.15").succeeded();
    assertTrue(out.lines().anyMatch(l -> l.matches("MatMul +.*complex.*yes +yes")), out);
    assertFalse(out.contains("Relu"), out);
    assertTrue(out.contains("ops of TensorFlow 1.15"), out);
  }

  @Test
  void missingOpsAreListedByName() {
    String out = Ran.millrace("ops", "--missing").succeeded();
    assertTrue(out.lines().anyMatch("XlaLaunch"::equals), out);
    assertFalse(out.lines().anyMatch("MatMul"::equals), out);
  }

  @Test
  void jsonHasTheSameFacts() {
    String out = Ran.millrace("ops", "Argmax", "--json").succeeded();
    assertTrue(out.contains("\"op\": \"ArgMax\""), out);
    assertTrue(out.contains("\"gradient\": \"none\""), out);
  }

  @Test
  void aVersionWithoutAListIsRefused() {
    Ran.millrace("ops", "--tensorflow", "1.2").wasRefusedFor("1.2", "1.15 and 2.21");
  }

  /** The page is made by the command; this fails when it was not made again. */
  @Test
  void thePageIsWhatTheCommandPrints() throws IOException {
    Path page = Path.of("..", "docs", "ops.md");
    assertEquals(
        Ran.millrace("ops", "--markdown").succeeded(),
        Files.readString(page),
        "docs/ops.md is out of date: ./millrace ops --markdown > docs/ops.md");
  }
}
