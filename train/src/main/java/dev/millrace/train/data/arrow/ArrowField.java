package dev.millrace.train.data.arrow;

import java.util.ArrayList;
import java.util.List;

/**
 * A field of an Arrow schema.
 *
 * @param name its path: fields of structures have the name of the structure and a dot before theirs
 * @param bytes the bytes of a value of a fixed width; 0 for bits
 * @param wide whether offsets are longs
 * @param length the values of a list of a fixed size
 * @param dictionary the number of its dictionary; -1 if it has its values itself
 * @param index what the numbers into the dictionary are; null without one
 */
record ArrowField(
    String name,
    Kind kind,
    int bytes,
    boolean wide,
    int length,
    long dictionary,
    ArrowField index,
    List<ArrowField> children) {
  /** How values are laid out. */
  enum Kind {
    BIT,
    SIGNED,
    UNSIGNED,
    FRACTION,
    STRING,
    FIXED_STRING,
    LIST,
    FIXED_LIST,
    STRUCTURE,
    /** Has a layout of two buffers, but no values that a column could hold. */
    OTHER,
    /** Has no buffers. */
    NULL,
    /** Has a layout that is not read. */
    UNKNOWN
  }

  static ArrowField of(FlatTable field, String parent) {
    String own = field.text(0);
    String name = parent.isEmpty() ? own : parent + "." + own;
    FlatTable dictionary = field.table(4);
    ArrowField index = null;
    if (dictionary != null) {
      FlatTable type = dictionary.table(1);
      int bits = type == null ? 32 : type.number(0, 0);
      boolean signed = type == null || type.byteNumber(1) != 0;
      Kind kind = signed ? Kind.SIGNED : Kind.UNSIGNED;
      index = new ArrowField(name, kind, bits / 8, false, 0, -1, null, List.of());
    }
    return typed(field, name, dictionary == null ? -1 : dictionary.longNumber(0), index);
  }

  private static ArrowField typed(FlatTable field, String name, long dictionary, ArrowField index) {
    FlatTable type = field.table(3);
    Kind kind = Kind.UNKNOWN;
    int bytes = 0;
    boolean wide = false;
    int length = 0;
    switch (field.byteNumber(2)) {
      case 1 -> kind = Kind.NULL;
      case 2 -> {
        kind = type.byteNumber(1) != 0 ? Kind.SIGNED : Kind.UNSIGNED;
        bytes = type.number(0, 0) / 8;
      }
      case 3 -> {
        kind = Kind.FRACTION;
        bytes = 2 << type.shortNumber(0);
      }
      case 4, 5 -> kind = Kind.STRING;
      case 6 -> kind = Kind.BIT;
      case 7, 11 -> kind = Kind.OTHER; // decimals and intervals
      case 8 -> { // dates: days as int, or milliseconds
        kind = Kind.SIGNED;
        bytes = type.has(0) && type.shortNumber(0) == 0 ? 4 : 8;
      }
      case 9 -> { // times of a day
        kind = Kind.SIGNED;
        bytes = type.number(1, 32) / 8;
      }
      case 10, 18 -> { // timestamps and durations
        kind = Kind.SIGNED;
        bytes = 8;
      }
      case 12 -> kind = Kind.LIST;
      case 13 -> kind = Kind.STRUCTURE;
      case 15 -> {
        kind = Kind.FIXED_STRING;
        bytes = type.number(0, 0);
      }
      case 16 -> {
        kind = Kind.FIXED_LIST;
        length = type.number(0, 0);
      }
      case 19, 20 -> {
        kind = Kind.STRING;
        wide = true;
      }
      case 21 -> {
        kind = Kind.LIST;
        wide = true;
      }
      default -> {
        // Unions, maps, views, runs.
      }
    }
    List<ArrowField> children = new ArrayList<>();
    String inside = kind == Kind.STRUCTURE ? name : "";
    for (int i = 0; i < field.count(5); i++) {
      children.add(of(field.tableOf(5, i), inside));
    }
    return new ArrowField(
        name, kind, bytes, wide, length, dictionary, index, List.copyOf(children));
  }

  /** What is written for it in a record batch: the numbers into its dictionary, if it has one. */
  ArrowField written() {
    return index == null ? this : index;
  }

  /** Whether it holds several values of a row. */
  boolean isList() {
    return kind == Kind.LIST || kind == Kind.FIXED_LIST;
  }

  /** What it holds: the values of a list, or itself. */
  ArrowField values() {
    return isList() && children.size() == 1 ? children.getFirst() : this;
  }
}
