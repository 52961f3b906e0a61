package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.base.ProcessEnvironment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** However a library logs, its lines arrive in one place and in one format. */
class OneLogTest {
  @Test
  void allLoggingSystemsArriveInOneFormat() throws Exception {
    ProcessBuilder b =
        new ProcessBuilder(
            ProcessEnvironment.java().toString(),
            "-cp",
            ProcessEnvironment.classPath(),
            Program.class.getName());
    Process p = b.start();
    p.getOutputStream().close();
    String err = new String(p.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    String out = new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, p.waitFor(), err);
    assertEquals("", out);
    List<String> lines =
        err.lines().map(l -> l.replaceFirst("^\\d\\d:\\d\\d:\\d\\d\\.\\d{3} ", "")).toList();
    assertEquals(List.of("WARN one - slf4j", "WARN two - jul", "WARN three - platform"), lines);
  }

  /** Logs a line by each system. */
  static final class Program {
    private Program() {}

    public static void main(String[] args) {
      Millrace.collectLogs();
      LoggerFactory.getLogger("dev.millrace.one").warn("slf4j");
      Logger.getLogger("dev.millrace.two").warning("jul");
      System.getLogger("dev.millrace.three").log(System.Logger.Level.WARNING, "platform");
    }
  }
}
