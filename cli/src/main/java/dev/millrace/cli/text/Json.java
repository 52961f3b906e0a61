package dev.millrace.cli.text;

import java.util.Iterator;
import java.util.Map;

/**
 * Writes maps, lists, strings, numbers, booleans and nulls as JSON, two spaces to a level. What has
 * no form in JSON, as NaN, becomes null.
 */
public final class Json {
  private final StringBuilder text = new StringBuilder();

  private Json() {}

  /** The text of a value. */
  public static String of(Object value) {
    Json j = new Json();
    j.value(value, "\n");
    return j.text.toString();
  }

  /** The text of a value on one line. */
  public static String compact(Object value) {
    Json j = new Json();
    j.value(value, "");
    return j.text.toString();
  }

  /** A string in quotes, as both JSON and YAML read it. */
  static String quoted(String s) {
    StringBuilder b = new StringBuilder("\"");
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      switch (c) {
        case '"', '\\' -> b.append('\\').append(c);
        case '\n' -> b.append("\\n");
        case '\t' -> b.append("\\t");
        case '\r' -> b.append("\\r");
        default -> {
          if (c < 0x20 || c == 0x7f) {
            b.append(String.format("\\u%04x", (int) c));
          } else {
            b.append(c);
          }
        }
      }
    }
    return b.append('"').toString();
  }

  /** Appends a value; {@code line} begins a line at its level and is empty if all is one line. */
  private void value(Object value, String line) {
    switch (value) {
      case null -> text.append("null");
      case Boolean b -> text.append(b);
      case Double d when !Double.isFinite(d) -> text.append("null");
      case Float f when !Float.isFinite(f) -> text.append("null");
      case Number n -> text.append(n);
      case Map<?, ?> m -> {
        Iterator<? extends Map.Entry<?, ?>> entries = m.entrySet().iterator();
        text.append('{');
        while (entries.hasNext()) {
          Map.Entry<?, ?> e = entries.next();
          begin(line);
          text.append(quoted(String.valueOf(e.getKey()))).append(": ");
          value(e.getValue(), deeper(line));
          end(entries.hasNext(), line);
        }
        text.append('}');
      }
      case Iterable<?> list -> {
        Iterator<?> items = list.iterator();
        text.append('[');
        while (items.hasNext()) {
          begin(line);
          value(items.next(), deeper(line));
          end(items.hasNext(), line);
        }
        text.append(']');
      }
      default -> text.append(quoted(value.toString()));
    }
  }

  private void begin(String line) {
    text.append(deeper(line));
  }

  private void end(boolean more, String line) {
    text.append(more ? line.isEmpty() ? ", " : "," : line);
  }

  private static String deeper(String line) {
    return line.isEmpty() ? "" : line + "  ";
  }
}
