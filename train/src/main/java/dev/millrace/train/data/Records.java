package dev.millrace.train.data;

import dev.millrace.storage.record.RecordReader;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.List;

/**
 * The records of files, one file after the other. The position is the file and the record in it.
 */
record Records(List<Path> files, RecordReader.Compression compression) implements Dataset {
  @Override
  public int positionLength() {
    return 2;
  }

  @Override
  public Elements elements() {
    return new FileElements(files.size()) {
      private RecordReader reader;

      @Override
      void open(int file) {
        reader = RecordReader.open(files.get(file), compression);
      }

      @Override
      Tensor[] read() {
        byte[] record = reader.next();
        return record == null
            ? null
            : new Tensor[] {Tensor.ofObjects(DType.STRING, Shape.scalar(), new Object[] {record})};
      }

      @Override
      void closeFile() {
        reader.close();
      }
    };
  }
}
