package dev.millrace.train.data.arrow;

import dev.millrace.base.MillraceException;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.file.InputFiles;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads Arrow's IPC files, which Feather's of version 2 are too, compressed with LZ4 or zstd or not
 * at all. Their record batches are the splits, so that each worker of a job reads some of them. A
 * field of lists is read by {@link Column#list}; one of structures by the paths of its fields, such
 * as {@code user.age}.
 */
public final class ArrowFiles {
  private ArrowFiles() {}

  /** The rows of {@code files}, one file after the other. */
  public static Dataset read(List<Column> columns, List<Path> files) {
    for (Column c : columns) {
      if (c.dtype() == null) {
        throw MillraceException.invalid(
            "A field of an Arrow file is left out by not naming it; Column.ignored is for CSV.");
      }
    }
    List<Dataset> splits = new ArrayList<>();
    for (Path path : files) {
      ArrowFile file = ArrowFile.read(path);
      for (ArrowFile.Block block : file.batches()) {
        splits.add(new ArrowSplit(file, block, List.copyOf(columns)));
      }
    }
    return Datasets.splits(splits);
  }

  /** The rows of the files that {@code glob} names, such as {@code data/day-*.arrow}. */
  public static Dataset read(List<Column> columns, String glob) {
    return read(columns, InputFiles.matching(glob));
  }
}
