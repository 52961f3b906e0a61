package dev.millrace.train.data.csv;

import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.file.FileRange;

/** The rows of a part of a CSV file. The position is the byte behind the last row. */
record CsvSplit(CsvSchema schema, FileRange range) implements Dataset {
  @Override
  public int positionLength() {
    return 1;
  }

  @Override
  public Elements elements() {
    return new CsvRows(schema, range);
  }
}
