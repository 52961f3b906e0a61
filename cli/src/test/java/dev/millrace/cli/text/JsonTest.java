package dev.millrace.cli.text;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {
  @Test
  void valuesNestAndStringsAreQuoted() {
    assertEquals(
        "{\n  \"a\\n\\\"\": [\n    1,\n    true,\n    null\n  ]\n}",
        Json.of(Map.of("a\n\"", java.util.Arrays.asList(1, true, null))));
    assertEquals("[]", Json.of(List.of()));
    assertEquals("{}", Json.of(Map.of()));
    assertEquals("\"\\u0001\"", Json.of("\u0001"));
  }

  @Test
  void whatJsonCannotSayIsNull() {
    assertEquals("null", Json.of(Double.NaN));
    assertEquals("null", Json.of(Float.POSITIVE_INFINITY));
  }
}
