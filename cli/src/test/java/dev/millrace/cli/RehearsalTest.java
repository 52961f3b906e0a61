package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.testkit.Slow;
import dev.millrace.train.checkpoint.CheckpointFolder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What makes the AOT cache, and what becomes of a start without a usable one. */
class RehearsalTest {
  @TempDir Path folder;

  @Slow
  @Test
  @Timeout(60)
  void runsALauncherAndAJobThatSaves() {
    Rehearsal.rehearse(folder, 3);
    assertTrue(CheckpointFolder.latest(folder.resolve("job")).isPresent());
    assertTrue(Files.exists(folder.resolve("logs").resolve("worker_0.log")));
  }

  @Test
  void aDamagedCacheIsNotUsedAndNotMentioned() throws Exception {
    Path cache = folder.resolve("millrace.aot");
    Files.write(cache, new byte[100_000]);
    assertEquals("", start(cache));
  }

  @Test
  void withoutACacheItStarts() throws Exception {
    assertEquals("", start(folder.resolve("none.aot")));
  }

  /** Runs {@code --version} by the functions of the script; returns what it says besides. */
  private String start(Path cache) throws IOException, InterruptedException {
    Path script = RunningMillrace.sourceTree().resolve("build").resolve("run");
    Path err = folder.resolve("err");
    Process p =
        new ProcessBuilder(
                List.of(
                    "bash",
                    "-euc",
                    ". \"$1\"; run_millrace \"$2\" \"$3\" \"$4\" -- --version",
                    "test",
                    script.toString(),
                    System.getProperty("java.home"),
                    System.getProperty("java.class.path"),
                    cache.toString()))
            .redirectError(err.toFile())
            .start();
    String out = new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(p.waitFor(60, TimeUnit.SECONDS), "it has not ended");
    assertEquals(0, p.exitValue(), Files.readString(err));
    assertTrue(out.startsWith("millrace "), out);
    return Files.readString(err);
  }
}
