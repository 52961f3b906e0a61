package dev.millrace.cluster;

import dev.millrace.base.MillraceException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON: objects become maps, arrays lists, numbers and words the text they were. */
final class Json {
  private static final int MAX_DEPTH = 50;

  private final String text;
  private int at;
  private int depth;

  private Json(String text) {
    this.text = text;
  }

  static Object parse(String text) {
    Json j = new Json(text);
    Object value = j.value();
    j.space();
    if (j.at < text.length()) {
      throw j.wrong("more follows");
    }
    return value;
  }

  private Object value() {
    space();
    if (++depth > MAX_DEPTH) {
      throw wrong("nested too deeply");
    }
    Object value =
        switch (peek()) {
          case '{' -> object();
          case '[' -> array();
          case '"' -> string();
          default -> word();
        };
    depth--;
    return value;
  }

  private Map<String, Object> object() {
    Map<String, Object> map = new LinkedHashMap<>();
    at++;
    while (!ends('}')) {
      String name = string();
      space();
      expect(':');
      map.put(name, value());
    }
    return map;
  }

  private List<Object> array() {
    List<Object> list = new ArrayList<>();
    at++;
    while (!ends(']')) {
      list.add(value());
    }
    return list;
  }

  /** Passes the end, or the comma before the next item. */
  private boolean ends(char end) {
    space();
    if (peek() == end) {
      at++;
      return true;
    }
    if (peek() == ',') {
      at++;
      space();
    }
    return false;
  }

  private String string() {
    expect('"');
    StringBuilder s = new StringBuilder();
    for (char c = next(); c != '"'; c = next()) {
      s.append(c == '\\' ? escaped() : c);
    }
    return s.toString();
  }

  private char escaped() {
    char c = next();
    return switch (c) {
      case 'n' -> '\n';
      case 't' -> '\t';
      case 'r' -> '\r';
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'u' -> unicode();
      default -> c;
    };
  }

  private char unicode() {
    String digits = text.substring(at, Math.min(at + 4, text.length()));
    at += 4;
    try {
      return (char) Integer.parseInt(digits, 16);
    } catch (NumberFormatException e) {
      throw wrong("not a character: \\u" + digits);
    }
  }

  private String word() {
    int start = at;
    while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
      at++;
    }
    if (at == start) {
      throw wrong("a value is missing");
    }
    return text.substring(start, at);
  }

  private void space() {
    while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
      at++;
    }
  }

  private char peek() {
    if (at >= text.length()) {
      throw wrong("it ends too early");
    }
    return text.charAt(at);
  }

  private char next() {
    char c = peek();
    at++;
    return c;
  }

  private void expect(char c) {
    if (next() != c) {
      throw wrong("'" + c + "' is missing");
    }
  }

  private MillraceException wrong(String what) {
    return MillraceException.invalid("Not JSON at character %d: %s.", at, what);
  }
}
