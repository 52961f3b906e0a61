package dev.millrace.train.data.record;

import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.file.BadRows;
import dev.millrace.train.data.file.FileRange;
import java.nio.file.Path;
import java.util.List;

/**
 * Reads TFRecord files, compressed if their names end in {@code .gz} or {@code .zst}. Large files
 * that are not compressed are cut into splits at the checksums of their records, so that each
 * worker of a job reads a part of them. Records that have TFRecord files in them cannot be cut so:
 * read them a file at a time, with {@link Datasets#splits}.
 */
public final class RecordFiles {
  private RecordFiles() {}

  /** The records of {@code files}, each a string. */
  public static Dataset records(List<Path> files) {
    return splits(files, RawRecords::new, BadRows.upTo(0));
  }

  /** The tf.Examples of {@code files} in columns; their features are the fields. */
  public static Dataset examples(List<Column> columns, List<Path> files) {
    return examples(columns, files, BadRows.upTo(0));
  }

  /** The same with Examples that do not fit the columns counted in {@code badRows}. */
  public static Dataset examples(List<Column> columns, List<Path> files, BadRows badRows) {
    return splits(files, () -> ExampleParser.ofExamples(columns), badRows);
  }

  /**
   * The tf.SequenceExamples of {@code files} in columns, those of {@code context} first. The values
   * of all steps of a feature list are one field; {@link Column#list} reads them.
   */
  public static Dataset sequences(
      List<Column> context, List<Column> sequences, List<Path> files, BadRows badRows) {
    return splits(files, () -> ExampleParser.ofSequences(context, sequences), badRows);
  }

  private static Dataset splits(List<Path> files, RecordParser.Factory parser, BadRows badRows) {
    return Datasets.splits(
        FileRange.cut(files).stream().map(r -> new RecordSplit(r, parser, badRows)).toList());
  }
}
