package dev.millrace.job.flags;

import dev.millrace.base.MillraceException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * One flag of a program.
 *
 * @param name without the dashes, words separated by {@code -}
 * @param type what its value is: Integer, Long, Double, Boolean, String, Path or an enum
 * @param standard the value where it is not given; null for none
 */
public record Flag(String name, Class<?> type, Object standard, String description) {
  /** Checks the name. */
  public Flag {
    if (!name.matches("[a-z][a-z0-9-]*")) {
      throw MillraceException.invalid(
          "'%s' cannot be the name of a flag: it needs lower-case letters, digits and '-'.", name);
    }
  }

  /** The value that {@code text} stands for. */
  Object parse(String text) {
    String t = text.strip();
    try {
      if (type == Integer.class) {
        return Integer.parseInt(t);
      } else if (type == Long.class) {
        return Long.parseLong(t);
      } else if (type == Double.class) {
        return Double.parseDouble(t);
      } else if (type == Boolean.class) {
        return bool(t);
      } else if (type == Path.class) {
        return Path.of(t);
      } else if (type.isEnum()) {
        return choice(t);
      } else if (type == String.class) {
        return text;
      }
    } catch (IllegalArgumentException e) {
      throw MillraceException.invalid("--%s is '%s'; it must be %s.", name, text, needed());
    }
    throw MillraceException.invalid(
        "Flag --%s has a %s for a value; it can have a whole number, a number, a truth value, text,"
            + " a path or an enum.",
        name, type.getSimpleName());
  }

  private Object choice(String t) {
    return Arrays.stream(type.getEnumConstants())
        .filter(e -> e.toString().equalsIgnoreCase(t))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException(t));
  }

  private static Boolean bool(String t) {
    if (!t.equals("true") && !t.equals("false")) {
      throw new IllegalArgumentException(t);
    }
    return t.equals("true");
  }

  private String needed() {
    return type.isEnum()
        ? "one of " + Arrays.toString(type.getEnumConstants())
        : type == Boolean.class
            ? "true or false"
            : type == Double.class
                ? "a number"
                : type == Path.class ? "a path" : "a whole number, and not too large";
  }

  /** How it looks in the list of flags. */
  String usage() {
    String value = type == Boolean.class ? "" : " " + type.getSimpleName().toUpperCase(Locale.ROOT);
    if (type.isEnum()) {
      value =
          Arrays.stream(type.getEnumConstants())
              .map(Object::toString)
              .collect(Collectors.joining("|", " ", ""));
    }
    String usual = standard == null || type == Boolean.class ? "" : " Default: " + standard;
    return String.format("  --%-32s %s%s", name + value, description, usual);
  }
}
