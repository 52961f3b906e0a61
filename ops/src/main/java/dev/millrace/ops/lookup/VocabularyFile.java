package dev.millrace.ops.lookup;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.tensor.DType;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** Entries of a table as the lines of a file: a key and a value from each. */
final class VocabularyFile {
  private static final int LINE_NUMBER = -1;
  private static final int WHOLE_LINE = -2;

  /**
   * Which parts of a line are key and value: a column, all of it, or its number.
   *
   * @param size how many lines are read; -1 for all
   * @param offset what is added to the numbers of lines
   */
  record Format(long keyIndex, long valueIndex, long size, String delimiter, long offset) {
    static Format of(Node node) {
      String delimiter = node.stringAttr("delimiter");
      if (delimiter.length() != 1) {
        throw MillraceException.invalid("delimiter should be only 1 char, but got '%s'", delimiter);
      }
      return new Format(
          node.longAttr("key_index"),
          node.longAttr("value_index"),
          node.longAttr("vocab_size"),
          delimiter,
          node.longAttr("offset"));
    }

    private int columns() {
      return (int) Math.max(keyIndex, valueIndex) + 1;
    }
  }

  private VocabularyFile() {}

  static Map<Object, Object> read(String file, byte[] contents, Format f, TableSpec spec) {
    check(f.keyIndex, spec.keys(), "key_dtype");
    check(f.valueIndex, spec.values(), "value_dtype");
    Map<Object, Object> entries = new LinkedHashMap<>();
    // A character for each byte, as in the entries.
    String text = new String(contents, StandardCharsets.ISO_8859_1);
    Pattern delimiter = Pattern.compile(Pattern.quote(f.delimiter));
    long number = 0;
    for (int at = 0; at < text.length() && (f.size < 0 || number < f.size); number++) {
      int end = text.indexOf('\n', at);
      end = end < 0 ? text.length() : end;
      String line = text.substring(at, end).replace("\r", "");
      at = end + 1;
      String[] columns = f.columns() == 0 ? new String[0] : delimiter.split(line, -1);
      if (columns.length < f.columns()) {
        throw MillraceException.invalid(
            "Invalid number of columns in %s line %d (%s) : expected %d got %d",
            file, number, line, f.columns(), columns.length);
      }
      TableInitializers.put(
          entries,
          entry(line, columns, number + f.offset, f.keyIndex, spec.keys()),
          entry(line, columns, number + f.offset, f.valueIndex, spec.values()));
    }
    if (f.size > number) {
      throw MillraceException.invalid(
          "Invalid vocab_size in %s: expected %d but got %d", file, f.size, number);
    }
    return entries;
  }

  private static void check(long index, DType type, String what) {
    if (index == LINE_NUMBER && type != DType.INT64) {
      throw MillraceException.invalid(
          "%s: the number of a line is int64, but the table's is %s", what, type);
    }
    if (index == WHOLE_LINE && type != DType.STRING && !type.isIntegral()) {
      throw MillraceException.invalid(
          "%s: a whole line is a string or an integer, but the table's is %s", what, type);
    }
  }

  private static Object entry(String line, String[] columns, long number, long index, DType type) {
    if (index == LINE_NUMBER) {
      return number;
    }
    String field = index == WHOLE_LINE ? line : columns[(int) index];
    if (type == DType.STRING) {
      return field;
    }
    try {
      return type.isFloating()
          ? (Object) (type == DType.FLOAT ? Float.parseFloat(field) : Double.parseDouble(field))
          : (Object) Long.parseLong(field.strip());
    } catch (NumberFormatException e) {
      throw MillraceException.invalid(
          "Field %s in line %d is not a valid %s.", field, number, type);
    }
  }
}
