package dev.millrace.base;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Refuses null where a caller has to give something, and says what was left out. */
public final class Preconditions {
  private Preconditions() {}

  /** {@code value} itself; {@code what} it is called is part of the message if it is null. */
  public static <T> T value(@Nullable T value, String what) {
    if (value == null) {
      throw MillraceException.invalid("%s is null; there must be one.", what);
    }
    return value;
  }

  /** {@code list} itself, of which no element is null; {@code what} is its name in the plural. */
  public static <T> List<T> all(List<T> list, String what) {
    if (list == null) {
      throw MillraceException.invalid("The list of %s is null; for none, give an empty one.", what);
    }
    for (int i = 0; i < list.size(); i++) {
      if (list.get(i) == null) {
        throw MillraceException.invalid(
            "Number %d of the %d %s is null, counted from 0.", i, list.size(), what);
      }
    }
    return list;
  }
}
