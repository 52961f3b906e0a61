package dev.millrace.storage.array;

import dev.millrace.base.MillraceException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads and writes the JSON at the beginning of a safetensors file: objects, lists, strings and
 * whole numbers, which is all it may have.
 */
final class SafetensorsHeader {
  private static final int MOST_DEPTH = 8;

  private final String text;
  private int at;

  private SafetensorsHeader(String text) {
    this.text = text;
  }

  /** The object; fails with INVALID_ARGUMENT if it is none. Its values are maps, lists, ... */
  static Map<String, Object> parse(String text) {
    SafetensorsHeader h = new SafetensorsHeader(text);
    Map<String, Object> all = h.object(0);
    h.blank();
    if (h.at < text.length()) {
      throw h.wrong();
    }
    return all;
  }

  private MillraceException wrong() {
    return MillraceException.invalid("its header is not JSON at character %d", at);
  }

  private void blank() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  /** Whether {@code c} comes next, behind blanks; it is taken then. */
  private boolean take(char c) {
    blank();
    if (at < text.length() && text.charAt(at) == c) {
      at++;
      return true;
    }
    return false;
  }

  private void need(char c) {
    if (!take(c)) {
      throw wrong();
    }
  }

  private Map<String, Object> object(int depth) {
    Map<String, Object> all = new LinkedHashMap<>();
    need('{');
    if (take('}')) {
      return all;
    }
    do {
      String name = string();
      need(':');
      if (all.put(name, value(depth + 1)) != null) {
        throw MillraceException.invalid("its header has '%s' twice", name);
      }
    } while (take(','));
    need('}');
    return all;
  }

  private Object value(int depth) {
    blank();
    if (at == text.length() || depth > MOST_DEPTH) {
      throw wrong();
    }
    return switch (text.charAt(at)) {
      case '{' -> object(depth);
      case '[' -> list(depth);
      case '"' -> string();
      default -> number();
    };
  }

  private List<Object> list(int depth) {
    List<Object> all = new ArrayList<>();
    need('[');
    if (take(']')) {
      return all;
    }
    do {
      all.add(value(depth + 1));
    } while (take(','));
    need(']');
    return all;
  }

  private Long number() {
    int from = at;
    while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
      at++;
    }
    try {
      return Long.parseLong(text, from, at, 10);
    } catch (NumberFormatException e) {
      throw wrong();
    }
  }

  private String string() {
    need('"');
    StringBuilder b = new StringBuilder();
    while (at < text.length() && text.charAt(at) != '"') {
      char c = text.charAt(at++);
      b.append(c == '\\' ? escaped() : c);
    }
    need('"');
    return b.toString();
  }

  private char escaped() {
    if (at == text.length()) {
      throw wrong();
    }
    char c = text.charAt(at++);
    return switch (c) {
      case '"', '\\', '/' -> c;
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'u' -> {
        try {
          char code = (char) Integer.parseInt(text, at, at + 4, 16);
          at += 4;
          yield code;
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
          throw wrong();
        }
      }
      default -> throw wrong();
    };
  }

  /** {@code text} as a JSON string. */
  static String quoted(String text) {
    StringBuilder b = new StringBuilder("\"");
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        b.append('\\').append(c);
      } else if (c < ' ') {
        b.append(String.format("\\u%04x", (int) c));
      } else {
        b.append(c);
      }
    }
    return b.append('"').toString();
  }
}
