package dev.millrace.train.data.column;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.data.ElementType;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * One tensor of an element, and the fields of a row it is made of. The fields of a CSV file are
 * those of a line, of Parquet its columns, of a tf.Example its features, of a table its columns.
 *
 * @param dtype null for fields that are passed over
 * @param fields the names of the fields, one for a single value or a list, several for a vector
 * @param length 0 for a single value; otherwise the length of the vector or list
 * @param list whether the only field holds up to {@code length} values
 * @param missing what an empty field stands for, and what fills up a list; null if no field may be
 *     empty
 */
public record Column(
    String name, DType dtype, List<String> fields, int length, boolean list, String missing) {
  private static final Set<DType> TYPES =
      Set.of(
          DType.FLOAT,
          DType.DOUBLE,
          DType.INT8,
          DType.INT16,
          DType.INT32,
          DType.INT64,
          DType.UINT8,
          DType.STRING);

  /** Checks the type and that there are fields. */
  public Column {
    fields = List.copyOf(fields);
    if (dtype != null && !TYPES.contains(dtype)) {
      throw MillraceException.invalid(
          "Column '%s' cannot be %s; it can be float, double, int8, int16, int32, int64, uint8 or"
              + " string.",
          name, dtype);
    }
    if (fields.isEmpty()) {
      throw MillraceException.invalid("Column '%s' has no fields.", name);
    }
    if (list && missing == null) {
      throw MillraceException.invalid("List '%s' needs a value to be filled up with.", name);
    }
    if (list ? length < 1 : length != 0 && length != fields.size()) {
      throw MillraceException.invalid(
          "Column '%s' cannot have length %d: a list needs room for at least 1 value, and a vector"
              + " has one for each of its %d fields.",
          name, length, fields.size());
    }
  }

  /** A single value that every row must have; an empty string is one. */
  public static Column of(String name, DType dtype) {
    return new Column(name, dtype, List.of(name), 0, false, unlessString(dtype, null));
  }

  /** A vector of the fields {@code fields}. */
  public static Column vector(String name, DType dtype, String... fields) {
    return new Column(
        name, dtype, List.of(fields), fields.length, false, unlessString(dtype, null));
  }

  /** A vector of the fields {@code prefix + first} to {@code prefix + last}, such as I1 to I13. */
  public static Column vector(String name, DType dtype, String prefix, int first, int last) {
    return vector(
        name,
        dtype,
        IntStream.rangeClosed(first, last).mapToObj(i -> prefix + i).toArray(String[]::new));
  }

  /**
   * The values of one field that has several, such as a list of ids: the first {@code length} of
   * them. A shorter list is filled up, with -1 where they are whole numbers, 0 where they are
   * fractions, and the empty string; {@link #orElse} names another value.
   */
  public static Column list(String name, DType dtype, int length) {
    String fill = dtype == DType.FLOAT || dtype == DType.DOUBLE ? "0" : "-1";
    return new Column(name, dtype, List.of(name), length, true, unlessString(dtype, fill));
  }

  private static String unlessString(DType dtype, String missing) {
    return dtype == DType.STRING ? "" : missing;
  }

  /** A field that is passed over; needed only where a CSV file has no header. */
  public static Column ignored() {
    return new Column("", null, List.of(""), 0, false, null);
  }

  /** The same, where an empty field stands for {@code value}, written as in a CSV file. */
  public Column orElse(String value) {
    return new Column(name, dtype, fields, length, list, value);
  }

  /** The same, read from a field of another name. */
  public Column from(String field) {
    if (fields.size() != 1) {
      throw MillraceException.invalid(
          "Column '%s' has %d fields; name all of them with vector.", name, fields.size());
    }
    return new Column(name, dtype, List.of(field), length, list, missing);
  }

  /** How many values of a row it holds. */
  public int width() {
    return length == 0 ? 1 : length;
  }

  /** What it is in an element. */
  public ElementType type() {
    return length == 0 ? ElementType.scalar(dtype) : new ElementType(dtype, Shape.of(length));
  }

  /** What the columns that are read are in an element. */
  public static List<ElementType> types(List<Column> columns) {
    return columns.stream().filter(c -> c.dtype != null).map(Column::type).toList();
  }
}
