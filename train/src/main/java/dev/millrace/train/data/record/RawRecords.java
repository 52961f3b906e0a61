package dev.millrace.train.data.record;

import dev.millrace.tensor.DType;
import dev.millrace.train.data.ElementType;
import dev.millrace.train.data.column.Cells;
import java.util.Arrays;
import java.util.List;

/** Takes a record as it is. */
final class RawRecords implements RecordParser {
  @Override
  public List<ElementType> types() {
    return List.of(ElementType.scalar(DType.STRING));
  }

  @Override
  public void parse(byte[] bytes, int from, int to, Cells cells, int row) {
    cells.putBytes(0, row, Arrays.copyOfRange(bytes, from, to));
  }
}
