package dev.millrace.train.data.arrow;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.train.data.ColumnElements;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.RowBuffer;
import dev.millrace.train.data.column.Cells;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.file.InputFiles;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;

/** The rows of a record batch. The position is the number of rows that were given. */
record ArrowSplit(ArrowFile file, ArrowFile.Block block, List<Column> columns) implements Dataset {
  @Override
  public int positionLength() {
    return 1;
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  /** A field of a column of the elements: the number of the column and the place in it. */
  private record Source(
      ArrowColumn values, Column column, int cell, int index, Cells.Missing missing) {}

  private final class Passage extends ColumnElements {
    private final Cells cells = new Cells(Column.types(columns));
    private final List<Source> sources = new ArrayList<>();
    private int rows = -1;
    private int given;

    @Override
    public int read(RowBuffer to, int max) {
      try {
        if (rows < 0) {
          open();
        }
        int n = Math.min(max, rows - given);
        cells.open(to, max);
        for (Source s : sources) {
          for (int i = 0; i < n; i++) {
            put(s, given + i, to.size() + i);
          }
        }
        to.added(n);
        given += n;
        return n;
      } catch (IOException e) {
        throw file.failure(e);
      } catch (MillraceException e) {
        throw e;
      } catch (RuntimeException e) {
        throw file.damaged("a record batch cannot be decoded: " + e, e);
      }
    }

    private void open() throws IOException {
      // The columns are read whole, so that the file need not stay open.
      try (FileChannel channel = channel()) {
        ArrowBatch batch = file.batch(channel, block);
        for (int c = 0; c < columns.size(); c++) {
          Column column = columns.get(c);
          Cells.Missing missing = Cells.Missing.of(column);
          for (int f = 0; f < column.fields().size(); f++) {
            String name = column.fields().get(f);
            if (!batch.has(name)) {
              throw MillraceException.invalid(
                  "%s has no column '%s'; it has %s.", file.file(), name, batch.names());
            }
            ArrowColumn values = batch.column(name);
            check(values.field(), column);
            sources.add(new Source(values, column, c, column.list() ? 0 : f, missing));
          }
        }
        rows = batch.rows();
        if (given > rows) {
          throw MillraceException.failedPrecondition(
              "A record batch of %s has %d rows, fewer than the %d that were read when the position"
                  + " was saved. Give the training the data it had, or start over in another"
                  + " folder.",
              file.file(), rows, given);
        }
      }
    }

    private FileChannel channel() {
      try {
        return FileChannel.open(file.file());
      } catch (IOException e) {
        throw InputFiles.unreadable(file.file(), e);
      }
    }

    private void check(ArrowField field, Column column) {
      if (field.isList() != column.list() && field.kind() != ArrowField.Kind.NULL) {
        throw MillraceException.invalid(
            field.isList()
                ? "%s: column '%s' has lists; read it with Column.list."
                : "%s: column '%s' has single values; read it with Column.of.",
            file.file(),
            field.name());
      }
      ArrowField.Kind kind = field.values().kind();
      DType t = column.dtype();
      boolean fits =
          switch (kind) {
            case BIT, SIGNED, UNSIGNED -> t != DType.STRING;
            case FRACTION -> t == DType.FLOAT || t == DType.DOUBLE;
            case STRING, FIXED_STRING -> t == DType.STRING;
            case NULL -> true;
            default -> false;
          };
      if (!fits) {
        throw MillraceException.invalid(
            "%s: column '%s' has values of kind %s, which column '%s' of %s cannot hold. Choose"
                + " another type, or convert it when the file is written.",
            file.file(), field.name(), kind, column.name(), t);
      }
    }

    private void put(Source s, int i, int row) throws IOException {
      long at = (long) row * s.column.width() + s.index;
      if (s.column.list()) {
        list(s, i, at);
      } else if (s.values.has(i)) {
        one(s, s.values, i, at);
      } else if (s.missing == null) {
        throw MillraceException.invalid(
            "%s: column '%s' has no value in a row. Say what it stands for with orElse.",
            file.file(), s.values.field().name());
      } else {
        cells.putMissing(s.cell, at, 1, s.missing);
      }
    }

    private void list(Source s, int i, long at) throws IOException {
      int width = s.column.width();
      int n = 0;
      if (s.values.has(i)) {
        int end = s.values.start(i + 1);
        ArrowColumn values = s.values.values();
        for (int v = s.values.start(i); v < end && n < width; v++) {
          if (values.has(v)) {
            one(s, values, v, at + n++);
          }
        }
      }
      cells.putMissing(s.cell, at + n, width - n, s.missing);
    }

    private void one(Source s, ArrowColumn from, int i, long at) throws IOException {
      try {
        from.put(cells, s.cell, at, i);
      } catch (NumberFormatException e) {
        throw MillraceException.invalid(
            "%s: column '%s' has a value that column '%s' of %s cannot hold: %s.",
            file.file(),
            s.values.field().name(),
            s.column.name(),
            s.column.dtype(),
            e.getMessage());
      }
    }

    @Override
    public long[] position() {
      return new long[] {given};
    }

    @Override
    public void seek(long[] position) {
      close();
      given = Math.toIntExact(position[0]);
    }

    @Override
    public void close() {
      sources.clear();
      rows = -1;
      given = 0;
    }
  }
}
