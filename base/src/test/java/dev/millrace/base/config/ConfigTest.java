package dev.millrace.base.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ConfigTest {
  private static Config properties(String... namesAndValues) {
    return Config.of(map(namesAndValues), Map.of());
  }

  private static Config variables(String... namesAndValues) {
    return Config.of(Map.of(), map(namesAndValues));
  }

  private static Map<String, String> map(String... namesAndValues) {
    return namesAndValues.length == 0 ? Map.of() : Map.of(namesAndValues[0], namesAndValues[1]);
  }

  @Test
  void defaultsHoldWhereNothingIsGiven() {
    Config c = Config.defaults();
    assertEquals(Runtime.getRuntime().availableProcessors(), c.get(ComputeSettings.THREADS));
    assertEquals(Duration.ofMillis(3500), c.get(ClusterSettings.LINK_SILENCE));
    assertEquals(Config.Source.DEFAULT, c.source(ComputeSettings.THREADS));
    assertEquals("", c.givenBy(ComputeSettings.THREADS));
    assertEquals(Optional.empty(), c.find(RankSettings.RANK));
    assertThrows(IllegalArgumentException.class, () -> c.get(RankSettings.RANK));
  }

  @Test
  void flagWinsOverPropertyOverVariableOverDefault() {
    Config variable = variables("MILLRACE_THREADS", "3");
    assertEquals(3, variable.get(ComputeSettings.THREADS));
    assertEquals(Config.Source.ENVIRONMENT, variable.source(ComputeSettings.THREADS));
    assertEquals("MILLRACE_THREADS", variable.givenBy(ComputeSettings.THREADS));
    Config both = Config.of(map("millrace.threads", "5"), map("MILLRACE_THREADS", "3"));
    assertEquals(5, both.get(ComputeSettings.THREADS));
    assertEquals(Config.Source.PROPERTY, both.source(ComputeSettings.THREADS));
    assertEquals("-Dmillrace.threads", both.givenBy(ComputeSettings.THREADS));
    Config flag = both.withFlag(ComputeSettings.THREADS, "--threads", "7");
    assertEquals(7, flag.get(ComputeSettings.THREADS));
    assertEquals(Config.Source.FLAG, flag.source(ComputeSettings.THREADS));
    assertEquals(5, both.get(ComputeSettings.THREADS), "the original is unchanged");
    assertEquals(9, flag.with(ComputeSettings.THREADS, 9).get(ComputeSettings.THREADS));
  }

  @Test
  void everyKindIsReadAndShown() {
    assertEquals(
        64L << 20, properties("millrace.pool.bytes", "64m").get(ComputeSettings.POOL_BYTES));
    assertEquals(
        Duration.ofMillis(1500),
        variables("MILLRACE_JOIN_TIMEOUT", " 1.5 ").get(RankSettings.JOIN_TIMEOUT));
    assertEquals("1.5", variables("MILLRACE_JOIN_TIMEOUT", "1.5").text(RankSettings.JOIN_TIMEOUT));
    assertEquals(true, variables("HOROVOD_AUTOTUNE", "1").get(RankSettings.AUTOTUNE));
    assertEquals("tcp", variables("MILLRACE_TRANSPORT", "TCP").get(RankSettings.TRANSPORT));
    assertEquals(
        Duration.ofDays(365),
        variables("MILLRACE_STALL_DEADLINE", "0").get(RankSettings.STALL_DEADLINE));
    assertEquals("...", variables("MILLRACE_TOKEN", "abc").text(RankSettings.TOKEN));
  }

  @Test
  void defaultsCanBeGivenAsText() {
    for (Setting<?> s : KnownSettings.ALL) {
      String text = Config.defaults().text(s);
      if (!text.isEmpty()) {
        assertEquals(text, variables(s.variable(), text).text(s), s.name());
      }
    }
  }

  @Test
  void aBadValueIsRefusedInOneSentence() {
    for (List<String> wrong :
        List.of(
            List.of("millrace.threads", "0", "a whole number, 1 or more"),
            List.of("millrace.threads", "many", "a whole number, 1 or more"),
            List.of("millrace.native", "yes", "true or false"),
            List.of("millrace.pool.bytes", "-1", "a number of bytes, 0 or more"),
            List.of("millrace.pool.bytes", "9999999999g", "a number of bytes, 0 or more"),
            List.of("millrace.link.silence.millis", "NaN", "a number of millis, 0 or more"),
            List.of("millrace.transport", "ipx", "one of auto, shared_memory, unix, tcp"))) {
      Config c = properties(wrong.get(0), wrong.get(1));
      MillraceException e = assertThrows(MillraceException.class, c::check);
      assertEquals(Code.INVALID_ARGUMENT, e.code());
      assertTrue(
          e.getMessage()
              .startsWith(
                  "System property "
                      + wrong.get(0)
                      + " is '"
                      + wrong.get(1)
                      + "'; it must be "
                      + wrong.get(2)),
          e.getMessage());
    }
    Config c = variables("MILLRACE_THREADS", "x");
    assertEquals(
        "Environment variable MILLRACE_THREADS is 'x'; it must be a whole number, 1 or more.",
        assertThrows(MillraceException.class, () -> c.get(ComputeSettings.THREADS)).getMessage());
    // Other settings stay usable.
    assertEquals(true, c.get(ComputeSettings.NATIVE));
    assertEquals("x", c.text(ComputeSettings.THREADS));
  }

  @Test
  void unknownNamesAreReportedWithTheNearestKnownOne() {
    String property = properties("millrace.thread", "2").unknown().getFirst().toString();
    assertTrue(
        property.startsWith(
            "System property millrace.thread is not a setting of Millrace and has no effect."
                + " Closest: millrace.threads"),
        property);
    String variable = variables("MILLRACE_RANKS", "2").unknown().getFirst().toString();
    assertTrue(
        variable.startsWith(
            "Environment variable MILLRACE_RANKS is not a setting of Millrace and has no effect."
                + " Closest: MILLRACE_RANK"),
        variable);
    assertEquals(List.of(), variables("PATH", "/bin").unknown());
  }

  @Test
  void variablesOfLaunchersAreReadAsTheyAre() {
    assertEquals("3", variables("SLURM_PROCID", "3").variable("SLURM_PROCID"));
    assertNull(variables().variable("SLURM_PROCID"));
    assertEquals("1", properties("millrace.rank", "1").variable("MILLRACE_RANK"));
    assertThrows(IllegalArgumentException.class, () -> variables().variable("HOME"));
  }

  @Test
  void namesAreUniqueAndEverySettingSaysWhatItDoes() {
    Set<String> names = new HashSet<>();
    for (Setting<?> s : KnownSettings.ALL) {
      assertTrue(names.add(s.variable()), s.name());
      s.aliases().forEach(a -> assertTrue(names.add(a), a));
      assertTrue(s.meaning().endsWith("."), s.name());
    }
  }
}
