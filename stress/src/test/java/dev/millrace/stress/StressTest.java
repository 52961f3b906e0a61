package dev.millrace.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.ProcessEnvironment;
import dev.millrace.testkit.Slow;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs jcstress over the classes of this module whose names end with {@code Stress}. It runs two or
 * three threads against each other millions of times, and finds every combination of results that
 * they give. jcstress starts JVMs, so it gets one of its own too.
 */
@Slow
class StressTest {
  /** How many tests there are, so that none is lost by a name. */
  private static final int TESTS = 10;

  private static final Pattern COUNTS =
      Pattern.compile("(\\d+) passed, (\\d+) failed, (\\d+) soft errs, (\\d+) hard errs");

  @Test
  @Timeout(value = 1, unit = TimeUnit.HOURS)
  void nothingForbiddenHappens(@TempDir Path results) throws IOException, InterruptedException {
    String mode = System.getProperty("stress.mode", "sanity");
    List<String> command = new ArrayList<>();
    command.add(ProcessEnvironment.java().toString());
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("-cp", classPath()));
    command.addAll(List.of("org.openjdk.jcstress.Main", "-t", "Stress", "-m", mode));
    command.addAll(List.of("-r", results.toString()));
    if (mode.equals("sanity")) {
      // One JVM per test, as a server runs it, in place of one for each way to compile the actors.
      command.addAll(List.of("-sc", "false", "-af", "NONE", "-f", "1", "-fsm", "1"));
      command.addAll(
          List.of("-strideSize", "64", "-strideCount", "20", "-iters", "3", "-time", "250"));
      command.addAll(List.of("--jvmArgs", "--enable-native-access=ALL-UNNAMED"));
    }
    Process p =
        new ProcessBuilder(command).directory(results.toFile()).redirectErrorStream(true).start();
    String said = new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(p.waitFor(Duration.ofMinutes(1)), "jcstress has closed its output and goes on");
    System.out.println(said.lines().filter(l -> l.contains("passed")).reduce("", (_, l) -> l));
    Matcher m = COUNTS.matcher(said);
    int passed = 0;
    while (m.find()) {
      assertEquals("0 0 0", m.group(2) + " " + m.group(3) + " " + m.group(4), said);
      passed = Integer.parseInt(m.group(1));
    }
    assertTrue(passed >= TESTS, said);
  }

  /** With absolute paths: jcstress runs in the folder of its results, where it leaves files. */
  private static String classPath() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(p -> Path.of(p).toAbsolutePath().toString())
        .collect(Collectors.joining(File.pathSeparator));
  }
}
