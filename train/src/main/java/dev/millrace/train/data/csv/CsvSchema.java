package dev.millrace.train.data.csv;

import dev.millrace.base.MillraceException;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.file.BadRows;
import java.util.List;

/**
 * What the rows of CSV files are. With a header, fields are found by name and others are passed
 * over; without, the columns are all fields of a row in their order. The values of a list are
 * separated by {@code |}.
 *
 * @param header whether the first line of every file names the fields
 * @param separator what stands between fields, such as a comma or a tab
 * @param quoted whether fields may be quoted with {@code "}, a quote inside being doubled
 * @param multiline whether quoted fields may have line breaks; such files cannot be cut into parts
 * @param badRows what becomes of rows that cannot be read
 */
public record CsvSchema(
    List<Column> columns,
    boolean header,
    char separator,
    boolean quoted,
    boolean multiline,
    BadRows badRows) {
  /** Checks columns and separator. */
  public CsvSchema {
    columns = List.copyOf(columns);
    if (columns.stream().noneMatch(c -> c.dtype() != null)) {
      throw MillraceException.invalid("A CSV file needs at least one column.");
    }
    if (separator > 127 || separator == '"' || separator == '\n' || separator == '\r') {
      throw MillraceException.invalid(
          "Character %d cannot separate the fields of a CSV file; an ASCII character other than a"
              + " quote or a line break can.",
          (int) separator);
    }
  }

  /** Columns separated by commas, without a header; fields may be quoted; a bad row is an error. */
  public static CsvSchema of(Column... columns) {
    return of(List.of(columns));
  }

  /** The same with the columns in a list, such as those of a FeatureSpec. */
  public static CsvSchema of(List<Column> columns) {
    return new CsvSchema(columns, false, ',', true, false, BadRows.upTo(0));
  }

  /** The same with a line of names first, by which fields are found. */
  public CsvSchema withHeader() {
    return new CsvSchema(columns, true, separator, quoted, multiline, badRows);
  }

  /** The same with fields separated by {@code c}, such as a tab. */
  public CsvSchema separatedBy(char c) {
    return new CsvSchema(columns, header, c, quoted, multiline, badRows);
  }

  /** The same where quotes are characters as others are. */
  public CsvSchema unquoted() {
    return new CsvSchema(columns, header, separator, false, false, badRows);
  }

  /** The same where quoted fields may have line breaks. Every file is then read by one worker. */
  public CsvSchema withLineBreaks() {
    return new CsvSchema(columns, header, separator, true, true, badRows);
  }

  /** The same with rows that cannot be read counted in {@code rows} and passed over. */
  public CsvSchema skipping(BadRows rows) {
    return new CsvSchema(columns, header, separator, quoted, multiline, rows);
  }
}
