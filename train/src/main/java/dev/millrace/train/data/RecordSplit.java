package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.storage.record.RecordReader;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;

/** The records of a file. The position is how many were given. */
record RecordSplit(Path file, RecordReader.Compression compression) implements Dataset {
  @Override
  public int positionLength() {
    return 1;
  }

  @Override
  public Elements elements() {
    return new Elements() {
      private RecordReader reader;
      private long given;

      @Override
      public Tensor[] next() {
        byte[] record = record();
        return record == null
            ? null
            : new Tensor[] {Tensor.ofObjects(DType.STRING, Shape.scalar(), new Object[] {record})};
      }

      private byte[] record() {
        if (reader == null) {
          reader = RecordReader.open(file, compression);
        }
        byte[] record = reader.next();
        given += record == null ? 0 : 1;
        return record;
      }

      @Override
      public long[] position() {
        return new long[] {given};
      }

      @Override
      public void seek(long[] position) {
        close();
        given = 0;
        while (given < position[0]) {
          if (record() == null) {
            throw MillraceException.failedPrecondition(
                "%s has %d records, fewer than the %d it had when the position was saved. Give the"
                    + " training the data it had, or start anew in another folder.",
                file, given, position[0]);
          }
        }
      }

      @Override
      public void close() {
        if (reader != null) {
          reader.close();
          reader = null;
        }
      }
    };
  }
}
