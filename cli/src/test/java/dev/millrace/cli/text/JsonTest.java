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
  void otherValuesAreWrittenAsTheirText() {
    record Point(int x, int y) {}
    assertEquals("[\"Point[x=1, y=2]\",\"1s\"]", Json.compact(List.of(new Point(1, 2), unit())));
  }

  private static Object unit() {
    return new Object() {
      @Override
      public String toString() {
        return "1s";
      }
    };
  }

  @Test
  void whatJsonCannotSayIsNull() {
    assertEquals("null", Json.of(Double.NaN));
    assertEquals("[null,1.5]", Json.compact(List.of(Double.NEGATIVE_INFINITY, 1.5)));
    assertEquals("null", Json.of(Float.POSITIVE_INFINITY));
  }
}
