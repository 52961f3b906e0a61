package dev.millrace.train.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ChiefLockTest {
  @TempDir Path folder;

  /** In a process of its own: takes the lock of a folder, says what came of it, and ends. */
  public static void main(String[] args) {
    try (ChiefLock lock = ChiefLock.take(Path.of(args[0]))) {
      System.out.println("took the lock of " + lock.job());
    } catch (MillraceException e) {
      System.out.println(e.getMessage());
    }
  }

  private String anotherProcess() throws Exception {
    Process p =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                ChiefLockTest.class.getName(),
                folder.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    assertTrue(p.waitFor(30, TimeUnit.SECONDS), "the other process has not ended");
    return said;
  }

  @Test
  void anotherProcessIsRefusedUntilTheLockIsGivenBack() throws Exception {
    String refusal = "There is another chief (process " + ProcessHandle.current().pid() + ")";
    String job;
    try (ChiefLock lock = ChiefLock.take(folder)) {
      job = lock.job();
      assertTrue(anotherProcess().startsWith(refusal), "it took the lock too");
      // To be refused in the same process takes nothing away either.
      assertThrows(MillraceException.class, () -> ChiefLock.take(folder));
      assertTrue(anotherProcess().startsWith(refusal), "it took the lock too");
    }
    assertEquals("took the lock of " + job, anotherProcess());
    ChiefLock.take(folder).close();
  }
}
