package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.config.Config;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ConfigCommandTest {
  private static final Path PAGE = RunningMillrace.sourceTree().resolve("docs/settings.md");

  @Test
  void everySettingIsListedWithItsSource() {
    String out = Ran.millrace("config", "--ps_hosts", "localhost:2222").succeeded();
    assertTrue(out.lines().anyMatch(l -> l.matches("millrace\\.native +true +default")), out);
    assertTrue(
        out.lines().anyMatch(l -> l.matches("PS_HOSTS +localhost:2222 +flag +--ps_hosts")), out);
  }

  @Test
  void onlyWhatWasSetIsListedOnDemand() {
    String out = Ran.millrace("config", "--set", "--job_name", "ps").succeeded();
    assertTrue(out.contains("JOB_NAME"), out);
    assertTrue(out.lines().noneMatch(l -> l.contains("default")), out);
  }

  @Test
  void jsonHasNamesValuesAndSources() {
    String out = Ran.millrace("config", "--json", "--job_name", "ps").succeeded();
    assertTrue(out.contains("\"name\": \"millrace.link.silence.millis\""), out);
    assertTrue(out.contains("\"value\": \"3500\""), out);
    assertTrue(out.contains("\"variable\": \"MILLRACE_LINK_SILENCE_MILLIS\""), out);
    assertTrue(out.contains("\"source\": \"flag\""), out);
    assertTrue(out.contains("\"problems\": []"), out);
  }

  @Test
  void aBadSettingStopsEveryCommandButThisOne() {
    Config bad = Config.of(Map.of("millrace.threads", "none"), Map.of());
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int code = Millrace.run(bad, new PrintWriter(out, true), new PrintWriter(err, true), "example");
    new Ran(code, out.toString(), err.toString())
        .wasRefusedFor("System property millrace.threads is 'none'", "1 or more");
    code = Millrace.run(bad, new PrintWriter(out, true), new PrintWriter(err, true), "config");
    assertEquals(2, code);
    assertTrue(
        out.toString()
            .lines()
            .anyMatch(l -> l.matches("millrace\\.threads +none +system property.*")),
        out.toString());
    assertTrue(out.toString().contains("it must be a whole number, 1 or more."), out.toString());
  }

  /** {@code ./millrace config --markdown > docs/settings.md} brings the page up to date. */
  @Test
  void thePageOfTheDocumentationIsTheTable() throws IOException {
    assertEquals(Ran.millrace("config", "--markdown").succeeded(), Files.readString(PAGE));
  }
}
