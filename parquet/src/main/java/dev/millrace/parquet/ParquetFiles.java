package dev.millrace.parquet;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.file.InputFiles;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.parquet.format.RowGroup;

/**
 * Reads Parquet files, compressed with snappy, gzip, zstd or lz4_raw or not at all. Their row
 * groups are the splits, so that each worker of a job reads some of them. A column of lists is read
 * by {@link Column#list}; one of structures by the paths of its fields, such as {@code user.age}.
 */
public final class ParquetFiles {
  private ParquetFiles() {}

  /** The rows of {@code files}, one file after the other. */
  public static Dataset read(List<Column> columns, List<Path> files) {
    for (Column c : columns) {
      if (c.dtype() == null) {
        throw MillraceException.invalid(
            "A column of a Parquet file is left out by not naming it; Column.ignored is for CSV.");
      }
    }
    List<Dataset> splits = new ArrayList<>();
    for (Path file : files) {
      Footer footer = Footer.read(file);
      for (RowGroup group : footer.rowGroups()) {
        splits.add(new RowGroupSplit(footer, group, List.copyOf(columns)));
      }
    }
    return Datasets.splits(splits);
  }

  /** The rows of the files that {@code glob} names, such as {@code data/day-*.parquet}. */
  public static Dataset read(List<Column> columns, String glob) {
    return read(columns, InputFiles.matching(glob));
  }

  /** The columns of {@code file} with single numbers and strings, each in the type it has there. */
  public static List<Column> columns(Path file) {
    List<Column> columns = new ArrayList<>();
    for (Leaf leaf : Footer.read(file).leaves()) {
      DType type =
          switch (leaf.type()) {
            case BOOLEAN -> DType.INT8;
            case INT32 -> DType.INT32;
            case INT64 -> DType.INT64;
            case FLOAT -> DType.FLOAT;
            case DOUBLE -> DType.DOUBLE;
            case BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY -> DType.STRING;
            default -> null;
          };
      if (type != null && leaf.repeated() == 0 && !leaf.decimal()) {
        columns.add(Column.of(leaf.name(), type));
      }
    }
    return List.copyOf(columns);
  }
}
