package dev.millrace.train.data.csv;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.data.ElementType;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * One tensor of an element, and the fields of a row it is made of.
 *
 * @param dtype null for fields that are passed over
 * @param fields the names of the fields, one for a single value, several for a vector
 * @param missing what an empty field stands for; null if no field may be empty
 */
public record CsvColumn(
    String name, DType dtype, List<String> fields, boolean vector, String missing) {
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
  public CsvColumn {
    fields = List.copyOf(fields);
    if (dtype != null && !TYPES.contains(dtype)) {
      throw MillraceException.invalid(
          "Column '%s' of a CSV file cannot be %s; it can be float, double, int8, int16, int32,"
              + " int64, uint8 or string.",
          name, dtype);
    }
    if (fields.isEmpty()) {
      throw MillraceException.invalid("Column '%s' of a CSV file has no fields.", name);
    }
  }

  /** A single value that every row must have; an empty string is one. */
  public static CsvColumn of(String name, DType dtype) {
    return new CsvColumn(name, dtype, List.of(name), false, dtype == DType.STRING ? "" : null);
  }

  /** A vector of the fields {@code fields}. */
  public static CsvColumn vector(String name, DType dtype, String... fields) {
    String missing = dtype == DType.STRING ? "" : null;
    return new CsvColumn(name, dtype, List.of(fields), true, missing);
  }

  /** A vector of the fields {@code prefix + first} to {@code prefix + last}, such as I1 to I13. */
  public static CsvColumn vector(String name, DType dtype, String prefix, int first, int last) {
    return vector(
        name,
        dtype,
        IntStream.rangeClosed(first, last).mapToObj(i -> prefix + i).toArray(String[]::new));
  }

  /** A field that is passed over; needed only where a file has no header. */
  public static CsvColumn ignored() {
    return new CsvColumn("", null, List.of(""), false, null);
  }

  /** The same, where an empty field stands for {@code value}, written as in the file. */
  public CsvColumn orElse(String value) {
    return new CsvColumn(name, dtype, fields, vector, value);
  }

  /** What it is in an element. */
  ElementType type() {
    return vector ? new ElementType(dtype, Shape.of(fields.size())) : ElementType.scalar(dtype);
  }
}
