package dev.millrace.train.data.record;

import dev.millrace.base.MillraceException;
import dev.millrace.storage.record.RecordReader;
import dev.millrace.train.data.ColumnElements;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.RowBuffer;
import dev.millrace.train.data.column.Cells;
import dev.millrace.train.data.file.BadRows;
import dev.millrace.train.data.file.FileRange;
import dev.millrace.train.data.file.InputFiles;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/**
 * The records of a part of a file: those that begin in it. The position is the byte behind the last
 * record, in the decompressed file; -1 before the first.
 */
record RecordSplit(FileRange range, RecordParser.Factory parser, BadRows badRows)
    implements Dataset {
  @Override
  public int positionLength() {
    return 1;
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  private final class Passage extends ColumnElements {
    private final RecordParser records = parser.make();
    private final Cells cells = new Cells(records.types());

    /** Null before the first record. */
    private RecordReader reader;

    @Override
    public int read(RowBuffer to, int max) {
      if (reader == null) {
        reader = open(range.from());
        if (range.from() > 0) {
          reader.findRecord();
        }
      }
      cells.open(to, max);
      int n = 0;
      while (n < max) {
        long at = reader.position();
        if (at >= range.to() || !reader.advance()) {
          break;
        }
        try {
          records.parse(reader.bytes(), reader.from(), reader.to(), cells, to.size());
        } catch (MillraceException e) {
          badRows.add(
              range.file(),
              at,
              e.withMessage(range.file() + ": the record at byte " + at + e.getMessage()));
          continue;
        }
        to.added(1);
        n++;
      }
      return n;
    }

    private RecordReader open(long offset) {
      InputStream in = null;
      try {
        in = InputFiles.open(range.file());
        in.skipNBytes(offset);
        return RecordReader.of(range.file(), in, offset);
      } catch (IOException e) {
        if (in != null) {
          try {
            in.close();
          } catch (IOException closing) {
            e.addSuppressed(closing);
          }
        }
        if (e instanceof EOFException) {
          throw MillraceException.failedPrecondition(
              "%s ends before byte %d, where the input was when its position was saved. Give the"
                  + " training the data it had, or start over in another folder.",
              range.file(), offset);
        }
        throw InputFiles.unreadable(range.file(), e);
      }
    }

    @Override
    public long[] position() {
      return new long[] {reader == null ? -1 : reader.position()};
    }

    @Override
    public void seek(long[] position) {
      close();
      if (position[0] >= 0) {
        reader = open(position[0]);
      }
    }

    @Override
    public void close() {
      if (reader != null) {
        reader.close();
        reader = null;
      }
    }
  }
}
