package dev.millrace.train.data.record;

import dev.millrace.train.data.ElementType;
import dev.millrace.train.data.column.Cells;
import java.util.List;

/** Writes the values of a record into columns. */
interface RecordParser {
  /** What an element is. */
  List<ElementType> types();

  /** Writes the record from {@code from} to {@code to} into row {@code row}. */
  void parse(byte[] bytes, int from, int to, Cells cells, int row);

  /** Makes a parser for each passage. */
  @FunctionalInterface
  interface Factory {
    RecordParser make();
  }
}
