package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import java.util.List;

/**
 * How the lines of a CSV file are read.
 *
 * @param types the type of each column: a number type or STRING
 * @param header whether the first line names the columns and is passed over
 * @param separator what stands between fields
 */
public record CsvFormat(List<DType> types, boolean header, char separator) {
  public CsvFormat {
    types = List.copyOf(types);
    if (types.isEmpty()) {
      throw MillraceException.invalid("A CSV file needs at least one column.");
    }
  }

  /** Columns of these types, separated by commas, without a header. */
  public static CsvFormat of(DType... types) {
    return new CsvFormat(List.of(types), false, ',');
  }

  /** The same with a line of names first. */
  public CsvFormat withHeader() {
    return new CsvFormat(types, true, separator);
  }
}
