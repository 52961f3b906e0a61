package dev.millrace.parquet;

import dev.millrace.base.MillraceException;
import dev.millrace.train.data.ColumnElements;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.RowBuffer;
import dev.millrace.train.data.column.Cells;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.file.InputFiles;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.RowGroup;

/** The rows of a row group. The position is the number of rows that were given. */
record RowGroupSplit(Footer footer, RowGroup group, List<Column> columns) implements Dataset {
  @Override
  public OptionalLong knownSize() {
    return OptionalLong.of(group.getNum_rows());
  }

  @Override
  public int positionLength() {
    return 1;
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  private final class Passage extends ColumnElements {
    private final Cells cells = new Cells(Column.types(columns));
    private final List<FieldReader> fields = new ArrayList<>();

    /** Null before the first row. */
    private FileChannel channel;

    private long given;

    @Override
    public int read(RowBuffer to, int max) {
      int n = (int) Math.min(max, group.getNum_rows() - given);
      if (channel == null) {
        open();
      }
      cells.open(to, max);
      decode(cells, to.size(), n);
      to.added(n);
      given += n;
      return n;
    }

    private void open() {
      try {
        channel = FileChannel.open(footer.file());
      } catch (IOException e) {
        throw InputFiles.unreadable(footer.file(), e);
      }
      for (int c = 0; c < columns.size(); c++) {
        Column column = columns.get(c);
        for (int f = 0; f < column.fields().size(); f++) {
          Leaf leaf = leaf(column.fields().get(f));
          fields.add(new FieldReader(footer.file(), leaf, pages(leaf), column, c, f));
        }
      }
    }

    /**
     * Reads the next {@code n} values of every field. Lengths and counts in a page are not trusted:
     * where they lead out of it, the access is refused.
     */
    private void decode(Cells to, int from, int n) {
      for (FieldReader field : fields) {
        try {
          field.read(to, from, n);
        } catch (IndexOutOfBoundsException | BufferUnderflowException | ArithmeticException e) {
          throw Footer.damaged(footer.file(), "a page leads out of its bytes: " + e, e);
        }
      }
    }

    private ColumnPages pages(Leaf leaf) {
      List<ColumnChunk> chunks = group.getColumns();
      ColumnMetaData data =
          chunks == null || leaf.number() >= chunks.size()
              ? null
              : chunks.get(leaf.number()).getMeta_data();
      if (data == null || data.getType() != leaf.type()) {
        String why = "a row group has no column '" + leaf.name() + "'";
        throw Footer.damaged(footer.file(), why, null);
      }
      return new ColumnPages(footer.file(), channel, leaf, data);
    }

    private Leaf leaf(String name) {
      for (Leaf leaf : footer.leaves()) {
        if (leaf.name().equals(name)) {
          return leaf;
        }
      }
      throw MillraceException.invalid(
          "%s has no column '%s'; it has %s.", footer.file(), name, Leaf.names(footer.leaves()));
    }

    @Override
    public long[] position() {
      return new long[] {given};
    }

    @Override
    public void seek(long[] position) {
      close();
      if (position[0] > group.getNum_rows()) {
        throw MillraceException.failedPrecondition(
            "A row group of %s has %d rows, fewer than the %d that were read when the position was"
                + " saved. Give the training the data it had, or start over in another folder.",
            footer.file(), group.getNum_rows(), position[0]);
      }
      if (position[0] > 0) {
        open();
        for (long passed = 0; passed < position[0]; ) {
          int n = (int) Math.min(position[0] - passed, Elements.SKIPPED_AT_ONCE);
          decode(null, 0, n);
          passed += n;
        }
        given = position[0];
      }
    }

    @Override
    public void close() {
      fields.clear();
      given = 0;
      if (channel != null) {
        try {
          channel.close();
        } catch (IOException e) {
          throw InputFiles.unreadable(footer.file(), e);
        } finally {
          channel = null;
        }
      }
    }
  }
}
