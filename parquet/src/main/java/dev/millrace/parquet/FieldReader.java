package dev.millrace.parquet;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.train.data.column.Cells;
import dev.millrace.train.data.column.Column;
import java.nio.file.Path;

/**
 * Writes the values of a Parquet column into a field of a {@link Column}.
 *
 * <p>Threading: one thread at a time.
 */
final class FieldReader {
  private final Path file;
  private final Leaf leaf;
  private final ColumnPages pages;
  private final Column column;
  private final int cell;
  private final int index;
  private final int width;
  private final Cells.Missing missing;

  /**
   * A reader of {@code pages}.
   *
   * @param cell the number of the column in an element
   * @param field the number of the field in the column
   */
  FieldReader(Path file, Leaf leaf, ColumnPages pages, Column column, int cell, int field) {
    this.file = file;
    this.leaf = leaf;
    this.pages = pages;
    this.column = column;
    this.cell = cell;
    this.index = column.list() ? 0 : field;
    this.width = column.width();
    this.missing = Cells.Missing.of(column);
    check();
  }

  private void check() {
    DType t = column.dtype();
    boolean fraction = t == DType.FLOAT || t == DType.DOUBLE;
    boolean fits =
        switch (leaf.type()) {
          case BOOLEAN, INT32, INT64 -> t != DType.STRING;
          case FLOAT, DOUBLE -> fraction;
          case BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY -> t == DType.STRING;
          default -> false;
        };
    if (!fits || leaf.decimal()) {
      throw MillraceException.invalid(
          "%s: column '%s' has %s%s, which column '%s' of %s cannot hold. Choose another type, or"
              + " convert it when the file is written.",
          file, leaf.name(), leaf.decimal() ? "decimals in " : "", leaf.type(), column.name(), t);
    }
    if (leaf.repeated() > 1 || (leaf.repeated() == 1) != column.list()) {
      throw MillraceException.invalid(
          leaf.repeated() > 1
              ? "%s: column '%s' has lists of lists, which are not read."
              : leaf.repeated() == 1
                  ? "%s: column '%s' has lists; read it with Column.list."
                  : "%s: column '%s' has single values; read it with Column.of.",
          file,
          leaf.name());
    }
  }

  /** Writes the next {@code n} rows from row {@code row} on; without cells they are passed over. */
  void read(Cells cells, int row, int n) {
    for (int done = 0; done < n; ) {
      if (pages.entry == pages.entries) {
        pages.next();
      }
      int at = row + done;
      if (leaf.repeated() > 0) {
        list(cells, at);
        done++;
      } else if (cells != null && isBulk()) {
        done += bulk(cells, at, Math.min(n - done, pages.entries - pages.entry));
      } else if (pages.defined == null) {
        int k = Math.min(n - done, pages.entries - pages.entry);
        if (cells != null) {
          copy(cells, at, k);
        }
        pages.taken += k;
        pages.entry += k;
        done += k;
      } else {
        if (cells != null) {
          one(cells, at);
        }
        pages.taken += pages.isThere() ? 1 : 0;
        pages.entry++;
        done++;
      }
    }
  }

  /** Whether many entries can be written at once: longs or strings, of which none is missing. */
  private boolean isBulk() {
    return (pages.defined == null || missing != null)
        && (pages.values.longs() != null || pages.values.bytes() != null);
  }

  /** Writes {@code k} entries and returns how many. */
  private int bulk(Cells cells, int row, int k) {
    long at = (long) row * width + index;
    Values v = pages.values;
    int from = pages.taken;
    Cells.Entries entries =
        new Cells.Entries(pages.defined, pages.entry, leaf.defined(), k, missing);
    try {
      pages.taken +=
          v.longs() != null
              ? cells.putLongs(cell, at, width, v.longs(), from, entries)
              : cells.putStrings(cell, at, width, v.bytes(), from, entries);
    } catch (NumberFormatException e) {
      // One of them does not fit: the slow way says which.
      for (int i = 0; i < k; i++) {
        one(cells, row + i);
        pages.taken += pages.isThere() ? 1 : 0;
        pages.entry++;
      }
      throw new IllegalStateException("a value that does not fit was written", e);
    }
    pages.entry += k;
    return k;
  }

  private void one(Cells cells, int row) {
    long at = (long) row * width + index;
    if (pages.isThere()) {
      put(cells, at, pages.taken);
    } else if (missing == null) {
      throw MillraceException.invalid(
          "%s: column '%s' has no value in a row. Say what it stands for with orElse.",
          file, leaf.name());
    } else {
      cells.putMissing(cell, at, 1, missing);
    }
  }

  /** Reads the entries of a row: those up to the next one that begins a list. */
  private void list(Cells cells, int row) {
    long at = (long) row * width;
    int n = 0;
    boolean first = true;
    while (first || (pages.entry < pages.entries && pages.repeated[pages.entry] > 0)) {
      if (pages.isThere()) {
        if (cells != null && n < width) {
          put(cells, at + n, pages.taken);
        }
        pages.taken++;
        n++;
      }
      pages.entry++;
      first = false;
      // A list may go on in the next page of the first version.
      if (pages.entry == pages.entries && pages.hasNext()) {
        pages.next();
      }
    }
    if (cells != null && n < width) {
      cells.putMissing(cell, at + n, width - n, missing);
    }
  }

  private void put(Cells cells, long at, int i) {
    Values v = pages.values;
    try {
      if (v.ints() != null) {
        cells.putLong(cell, at, v.ints()[i]);
      } else if (v.longs() != null) {
        cells.putLong(cell, at, v.longs()[i]);
      } else if (v.floats() != null) {
        cells.putDouble(cell, at, v.floats()[i]);
      } else if (v.doubles() != null) {
        cells.putDouble(cell, at, v.doubles()[i]);
      } else {
        cells.putBytes(cell, at, v.bytes()[i]);
      }
    } catch (NumberFormatException e) {
      throw MillraceException.invalid(
          "%s: column '%s' has the value %s, which column '%s' of %s cannot hold.",
          file,
          leaf.name(),
          v.ints() != null ? v.ints()[i] : v.longs()[i],
          column.name(),
          column.dtype());
    }
  }

  private void copy(Cells cells, int row, int k) {
    long at = (long) row * width + index;
    int from = pages.taken;
    for (int i = 0; i < k; i++, at += width) {
      put(cells, at, from + i);
    }
  }
}
