package dev.millrace.cli.k8s;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Short ways to write maps and lists down, in the order in which they are to be printed. */
final class Fields {
  private Fields() {}

  /** A map of alternating keys and values, which may be added to. */
  static Map<String, Object> map(Object... keysAndValues) {
    Map<String, Object> m = new LinkedHashMap<>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      m.put((String) keysAndValues[i], keysAndValues[i + 1]);
    }
    return m;
  }

  static List<Object> list(Object... items) {
    return List.of(items);
  }
}
