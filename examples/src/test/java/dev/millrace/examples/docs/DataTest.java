package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import dev.millrace.parquet.ParquetFiles;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.cache.ElementCache;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.csv.CsvFiles;
import dev.millrace.train.data.csv.CsvSchema;
import dev.millrace.train.data.file.BadRows;
import dev.millrace.train.data.file.InputFiles;
import dev.millrace.train.data.jdbc.JdbcTable;
import dev.millrace.train.data.record.RecordFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of data.md. */
class DataTest {
  @TempDir Path folder;

  private static List<Column> columns() {
    // sample columns
    List<Column> columns =
        List.of(
            Column.of("click", DType.FLOAT),
            Column.vector("counts", DType.FLOAT, "I", 1, 2).orElse("0"),
            Column.of("site", DType.STRING),
            Column.list("tags", DType.INT64, 10));
    // end
    return columns;
  }

  @BeforeEach
  void write() throws IOException {
    Files.writeString(
        folder.resolve("day-1.csv"),
        "click,I1,I2,site,tags\n1,3,,a.com,4|8\n0,x,2,b.com,\n0,1,2,c.com,5\n");
  }

  private static int rows(Dataset data) {
    int rows = 0;
    try (Elements e = data.elements()) {
      for (Tensor[] row = e.next(); row != null; row = e.next()) {
        rows++;
        Elements.release(row);
      }
    }
    return rows;
  }

  private static List<Dataset> sources(List<Column> columns, String data, DataSource database) {
    // sample sources
    CsvSchema schema = CsvSchema.of(columns).withHeader();
    Dataset csv = CsvFiles.read(schema, data + "/day-*.csv");
    Dataset parquet = ParquetFiles.read(columns, data + "/day-*.parquet");
    Dataset examples = RecordFiles.examples(columns, InputFiles.matching(data + "/day-*.tfrecord"));
    Dataset table = JdbcTable.read(database, "clicks", "id", columns, 16);
    // end
    return List.of(csv, parquet, examples, table);
  }

  @Test
  void missingFilesAreNamed() {
    MillraceException e =
        assertThrows(MillraceException.class, () -> sources(columns(), folder.toString(), null));
    assertEquals(
        "No file is named %s/day-*.parquet: folder %s has none such.".formatted(folder, folder),
        e.getMessage());
  }

  @Test
  void badRowsAreCounted() {
    List<Column> columns = columns();
    List<Path> files = List.of(folder.resolve("day-1.csv"));
    // sample badRows
    BadRows badRows = BadRows.upTo(100);
    CsvSchema schema = CsvSchema.of(columns).withHeader().skipping(badRows);
    // end
    assertEquals(2, rows(CsvFiles.read(schema, files)));
    assertEquals(1, badRows.count());
  }

  @Test
  void transformsAreChained() {
    CsvSchema schema = CsvSchema.of(columns()).withHeader().skipping(BadRows.upTo(1));
    Dataset data = CsvFiles.read(schema, folder + "/day-*.csv");
    // sample transforms
    Dataset batches =
        data.filter(row -> row[2].stringValue().endsWith(".com"))
            .apply(ElementCache.inMemory())
            .shuffle(10_000, 1)
            .repeat(3)
            .batch(4, false)
            .prefetch(2);
    // end
    assertEquals(2, rows(batches), "batches of 6 rows");
  }
}
