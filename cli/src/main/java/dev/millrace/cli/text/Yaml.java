package dev.millrace.cli.text;

import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Writes maps and lists as YAML; every string that might be taken for anything else is quoted. */
public final class Yaml {
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z/][A-Za-z0-9_./-]*");
  private static final Pattern TAKEN =
      Pattern.compile("(?i)y|n|yes|no|on|off|true|false|null|nan|inf");

  private final StringBuilder text = new StringBuilder();

  private Yaml() {}

  /** Several documents, one after the other. */
  public static String documents(List<? extends Map<String, ?>> documents) {
    Yaml y = new Yaml();
    for (Map<String, ?> d : documents) {
      y.text.append("---\n");
      y.map(d, "", "");
    }
    return y.text.toString();
  }

  /**
   * Appends the lines of a map.
   *
   * @param first what the first line begins with, instead of {@code indent}
   */
  private void map(Map<?, ?> map, String first, String indent) {
    String start = first;
    for (Map.Entry<?, ?> e : map.entrySet()) {
      text.append(start).append(scalar(e.getKey())).append(':');
      value(e.getValue(), indent);
      start = indent;
    }
  }

  /** Appends what follows a key or a dash. */
  private void value(Object value, String indent) {
    switch (value) {
      case Map<?, ?> m when !m.isEmpty() -> {
        text.append('\n');
        map(m, indent + "  ", indent + "  ");
      }
      case List<?> list when !list.isEmpty() -> {
        text.append('\n');
        for (Object item : list) {
          if (item instanceof Map<?, ?> m && !m.isEmpty()) {
            map(m, indent + "- ", indent + "  ");
          } else {
            text.append(indent).append('-');
            value(item, indent + "  ");
          }
        }
      }
      case Map<?, ?> m -> text.append(" {}\n");
      case List<?> list -> text.append(" []\n");
      case null, default -> text.append(' ').append(scalar(value)).append('\n');
    }
  }

  private static String scalar(Object value) {
    return switch (value) {
      case null -> "null";
      case Number n -> n.toString();
      case Boolean b -> b.toString();
      default -> {
        String s = value.toString();
        yield PLAIN.matcher(s).matches() && !TAKEN.matcher(s).matches() ? s : Json.quoted(s);
      }
    };
  }
}
