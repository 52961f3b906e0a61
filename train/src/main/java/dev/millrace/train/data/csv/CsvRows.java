package dev.millrace.train.data.csv;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.train.data.ColumnElements;
import dev.millrace.train.data.RowBuffer;
import dev.millrace.train.data.column.Cells;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.file.FileRange;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/** A passage through a part of a CSV file, which writes each field straight into its column. */
final class CsvRows extends ColumnElements {
  /** What stands between the values of a list. */
  private static final byte LIST_SEPARATOR = '|';

  private final CsvSchema schema;
  private final FileRange range;
  private final CsvLineReader lines;
  private final Cells cells;
  private boolean open;

  /** The place of every field of a row; null for those that are passed over. */
  private Field[] fields;

  /** Where a quoted field is put together. */
  private byte[] unquoted = new byte[256];

  /** A field of a row: the column and the place in it. */
  private record Field(
      String name,
      int column,
      int index,
      int width,
      boolean list,
      DType dtype,
      Cells.Missing missing) {}

  CsvRows(CsvSchema schema, FileRange range) {
    this.schema = schema;
    this.range = range;
    cells = new Cells(Column.types(schema.columns()));
    lines = new CsvLineReader(range, schema.multiline());
  }

  @Override
  public int read(RowBuffer to, int max) {
    if (!open) {
      open(-1);
    }
    cells.open(to, max);
    int n = 0;
    while (n < max) {
      long at = lines.position();
      if (!lines.next()) {
        break;
      }
      if (isBlank() && fields.length > 1) {
        continue;
      }
      try {
        row(to.size());
      } catch (MillraceException bad) {
        schema.badRows().add(range.file(), at, bad.withMessage(place(at) + bad.getMessage()));
        continue;
      }
      to.added(1);
      n++;
    }
    return n;
  }

  private String place(long at) {
    return range.file() + " line " + lines.number(at);
  }

  private boolean isBlank() {
    byte[] bytes = lines.bytes();
    for (int i = lines.start(); i < lines.end(); i++) {
      if (bytes[i] != ' ' || schema.separator() == ' ') {
        return false;
      }
    }
    return true;
  }

  /** Opens the file at byte {@code offset}, where a row begins; at the first row if negative. */
  private void open(long offset) {
    lines.go(0);
    open = true;
    if (schema.header()) {
      boolean any = lines.next();
      fields = named(any ? header() : List.of());
    } else {
      fields = numbered();
    }
    if (offset >= 0) {
      lines.go(offset);
    } else if (range.from() > lines.position()) {
      lines.begin(range.from());
    }
  }

  private List<String> header() {
    int length = lines.end() - lines.start();
    String line = new String(lines.bytes(), lines.start(), length, StandardCharsets.UTF_8);
    String text = line.startsWith("\uFEFF") ? line.substring(1) : line;
    return Arrays.stream(text.split(Pattern.quote(String.valueOf(schema.separator())), -1))
        .map(String::strip)
        .map(n -> schema.quoted() ? n.replaceAll("^\"|\"$", "") : n)
        .toList();
  }

  private Field[] named(List<String> names) {
    Field[] found = new Field[names.size()];
    for (Field f : numbered()) {
      if (f == null) {
        continue;
      }
      int at = names.indexOf(f.name);
      if (at < 0) {
        throw MillraceException.invalid(
            "%s has no column '%s': its first line names %s. Give the schema the names of the file,"
                + " or no header.",
            range.file(), f.name, names);
      }
      if (found[at] != null) {
        throw MillraceException.invalid(
            "Two columns of the schema read field '%s' of %s; a field is read once.",
            f.name, range.file());
      }
      found[at] = f;
    }
    return found;
  }

  /** All fields of the schema in their order. */
  private Field[] numbered() {
    List<Field> all = new ArrayList<>();
    int column = 0;
    for (Column c : schema.columns()) {
      Cells.Missing missing = c.dtype() == null ? null : Cells.Missing.of(c);
      for (int i = 0; i < c.fields().size(); i++) {
        all.add(
            c.dtype() == null
                ? null
                : new Field(c.fields().get(i), column, i, c.width(), c.list(), c.dtype(), missing));
      }
      column += c.dtype() == null ? 0 : 1;
    }
    return all.toArray(Field[]::new);
  }

  /** Reads the line into row {@code row} of the columns. */
  private void row(int row) {
    byte[] bytes = lines.bytes();
    int end = lines.end();
    byte separator = (byte) schema.separator();
    boolean quotes = schema.quoted();
    int at = lines.start();
    int number = 0;
    while (true) {
      Field field = number < fields.length ? fields[number] : null;
      int to = at;
      if (quotes && at < end && bytes[at] == '"') {
        to = quoted(bytes, at, end, number, row, field);
      } else {
        to = CsvLineReader.find(bytes, separator, at, end);
        if (field != null) {
          put(field, number, row, bytes, at, to);
        }
      }
      number++;
      if (to >= end) {
        break;
      }
      at = to + 1;
    }
    if (number != fields.length) {
      throw MillraceException.invalid(" has %d fields; %d were expected.", number, fields.length);
    }
  }

  /** Reads a field in quotes and returns where it ends. */
  private int quoted(byte[] bytes, int from, int end, int number, int row, Field field) {
    if (unquoted.length < end - from) {
      unquoted = new byte[2 * (end - from)];
    }
    int n = 0;
    int i = from + 1;
    while (true) {
      if (i >= end) {
        throw MillraceException.invalid(
            ": the quotes of field %d are not closed. If fields have line breaks, say so with"
                + " withLineBreaks; if quotes mean nothing, with unquoted.",
            number + 1);
      }
      if (bytes[i] != '"') {
        unquoted[n++] = bytes[i++];
      } else if (i + 1 < end && bytes[i + 1] == '"') {
        unquoted[n++] = '"';
        i += 2;
      } else {
        break;
      }
    }
    i++;
    if (i < end && bytes[i] != schema.separator()) {
      throw MillraceException.invalid(": field %d goes on behind its closing quote.", number + 1);
    }
    if (field != null) {
      put(field, number, row, unquoted, 0, n);
    }
    return i;
  }

  private void put(Field field, int number, int row, byte[] bytes, int from, int to) {
    long at = (long) row * field.width + field.index;
    if (field.list) {
      list(field, number, at, bytes, from, to);
    } else if (from == to && field.missing != null) {
      cells.putMissing(field.column, at, 1, field.missing);
    } else {
      value(field, number, at, bytes, from, to);
    }
  }

  /** Reads as many values of a list as there is room for, and fills up the rest. */
  private void list(Field field, int number, long at, byte[] bytes, int from, int to) {
    int n = 0;
    for (int start = from; start < to && n < field.width; n++) {
      int end = start;
      while (end < to && bytes[end] != LIST_SEPARATOR) {
        end++;
      }
      value(field, number, at + n, bytes, start, end);
      start = end + 1;
    }
    cells.putMissing(field.column, at + n, field.width - n, field.missing);
  }

  private void value(Field field, int number, long at, byte[] bytes, int from, int to) {
    try {
      cells.putText(field.column, at, bytes, from, to);
    } catch (NumberFormatException e) {
      String text = new String(bytes, from, to - from, StandardCharsets.UTF_8);
      throw MillraceException.invalid(
          ": field %d, '%s', is %s, which is not a %s.%s",
          number + 1,
          field.name,
          text.isEmpty() ? "empty" : "'" + text + "'",
          field.dtype,
          text.isEmpty() ? " Say what an empty field stands for with orElse." : "");
    }
  }

  @Override
  public long[] position() {
    return new long[] {open ? lines.position() : -1};
  }

  @Override
  public void seek(long[] position) {
    if (position[0] < 0) {
      close();
    } else {
      open(position[0]);
    }
  }

  @Override
  public void close() {
    open = false;
    lines.close();
  }
}
