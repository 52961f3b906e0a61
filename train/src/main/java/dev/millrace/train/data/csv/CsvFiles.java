package dev.millrace.train.data.csv;

import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.data.file.FileRange;
import dev.millrace.train.data.file.InputFiles;
import java.nio.file.Path;
import java.util.List;

/**
 * Reads CSV files in UTF-8, compressed if their names end in {@code .gz} or {@code .zst}. Large
 * files that are not compressed are cut into splits, so that each worker of a job reads a part of
 * them.
 */
public final class CsvFiles {
  private CsvFiles() {}

  /** The rows of {@code files}, one file after the other. */
  public static Dataset read(CsvSchema schema, List<Path> files) {
    List<FileRange> ranges =
        schema.multiline() ? files.stream().map(FileRange::whole).toList() : FileRange.cut(files);
    return Datasets.splits(ranges.stream().map(r -> new CsvSplit(schema, r)).toList());
  }

  /** The rows of the files that {@code glob} names, such as {@code data/day-*.csv.gz}. */
  public static Dataset read(CsvSchema schema, String glob) {
    return read(schema, InputFiles.matching(glob));
  }
}
