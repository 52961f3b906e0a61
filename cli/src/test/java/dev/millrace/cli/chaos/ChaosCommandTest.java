package dev.millrace.cli.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cli.Ran;
import dev.millrace.testkit.Slow;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs of real processes that are killed; {@code ./millrace chaos} runs longer ones. */
class ChaosCommandTest {
  @TempDir Path folder;

  // README claim: save-process
  @Slow
  @ParameterizedTest
  @ValueSource(strings = {"async", "bounded"})
  void killedServersLoseAndRepeatNothing(String mode) throws IOException {
    Path json = folder.resolve("result.json");
    Ran ran =
        Ran.millrace(
            "chaos",
            "--mode",
            mode,
            "--ps",
            "2",
            "--kills",
            "5",
            "--seed",
            "11",
            "--logs",
            folder.resolve("logs").toString(),
            "--json",
            json.toString());
    assertEquals(0, ran.code(), ran.out() + ran.err());
    String result = Files.readString(json);
    assertTrue(result.replace(" ", "").contains("\"lost\":0"), result);
    assertTrue(result.replace(" ", "").contains("\"doubled\":0"), result);
  }

  /** What the check is worth: in memory only, a killed server loses, and the command says so. */
  @Slow
  @Test
  void inMemoryAKilledServerLosesAndItIsFound() {
    Ran ran =
        Ran.millrace(
            "chaos",
            "--durability",
            "memory",
            "--kills",
            "4",
            "--seed",
            "2",
            "--logs",
            folder.resolve("logs").toString());
    assertEquals(1, ran.code(), ran.out() + ran.err());
    assertTrue(ran.out().contains("updates were acknowledged"), ran.out());
    assertTrue(ran.err().contains("did not keep what it acknowledged"), ran.err());
  }

  @Test
  void aModeWithoutServersIsRefused() {
    Ran.millrace("chaos", "--mode", "ring").wasRefusedFor("--mode ring has no parameter servers");
    Ran.millrace("chaos", "--kills", "-1").wasRefusedFor("--kills at least 0");
  }
}
