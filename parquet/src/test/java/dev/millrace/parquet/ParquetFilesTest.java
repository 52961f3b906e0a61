package dev.millrace.parquet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.column.Column;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that pyarrow wrote; {@code files.py} beside them is its script. */
class ParquetFilesTest {
  private static final int ROWS = 300;

  private static final List<Column> COLUMNS =
      List.of(
          Column.of("n", DType.INT64),
          Column.of("small", DType.INT32),
          Column.of("large", DType.INT64),
          Column.vector("fractions", DType.FLOAT, "float", "double"),
          Column.of("double", DType.DOUBLE),
          Column.of("flag", DType.INT8),
          Column.of("word", DType.STRING),
          Column.of("text", DType.STRING),
          Column.of("fixed", DType.STRING),
          Column.of("maybe", DType.FLOAT).orElse("-1"),
          Column.of("perhaps", DType.STRING),
          Column.list("ids", DType.INT32, 2),
          Column.of("user.age", DType.INT64).orElse("-2"));

  @TempDir Path folder;

  private Path file(String name) throws IOException {
    Path file = folder.resolve(name);
    try (InputStream in = ParquetFilesTest.class.getResourceAsStream(name)) {
      Files.copy(in, file);
    }
    return file;
  }

  private static void assertRow(long k, Tensor[] row, int i) {
    assertEquals(k, row[0].longAt(i));
    assertEquals(k * 7 - 1000, row[1].longAt(i));
    assertEquals(k * 10_000_000_019L - (1L << 40), row[2].longAt(i));
    assertEquals(k / 8f, row[3].doubleAt(2L * i));
    assertEquals(-k / 16f, row[3].doubleAt(2L * i + 1));
    assertEquals(-k / 16., row[4].doubleAt(i));
    assertEquals(k % 3 == 0 ? 1 : 0, row[5].longAt(i));
    assertEquals("word " + k % 10, row[6].stringAt(i));
    assertEquals("text of number " + k, row[7].stringAt(i));
    assertEquals("%04d".formatted(k), row[8].stringAt(i));
    assertEquals(k % 5 == 0 ? -1 : (double) k, row[9].doubleAt(i));
    assertEquals(k % 7 < 4 ? "" : "p" + k, row[10].stringAt(i));
    boolean empty = k % 11 == 0 || k % 4 == 0;
    assertEquals(empty ? -1 : 0, row[11].longAt(2L * i));
    assertEquals(empty || k % 4 == 1 ? -1 : 1, row[11].longAt(2L * i + 1));
    assertEquals(k % 13 == 0 ? -2 : k, row[12].longAt(i));
  }

  private static String messageOf(Dataset data) {
    try (Elements e = data.batch(100, false).elements()) {
      return assertThrows(MillraceException.class, e::next).getMessage();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"none", "snappy", "gzip", "zstd", "lz4", "v2", "v2-plain", "delta"})
  void filesOfPyarrowAreRead(String name) throws IOException {
    Path file = file(name + ".parquet");
    long k = 0;
    try (Elements e = ParquetFiles.read(COLUMNS, List.of(file)).batch(70, false).elements()) {
      for (Tensor[] batch = e.next(); batch != null; batch = e.next()) {
        for (int i = 0; i < batch[0].elements(); i++) {
          assertRow(k++, batch, i);
        }
        Elements.release(batch);
      }
    }
    assertEquals(ROWS, k);
  }

  @Test
  void rowGroupsAreSplitsAndAnyPositionCanBeGoneBackTo() throws IOException {
    Dataset data = ParquetFiles.read(COLUMNS, List.of(file("zstd.parquet")));
    List<Dataset> splits = data.splits(0);
    assertEquals(3, splits.size());
    List<Long> all = new ArrayList<>();
    for (Dataset split : splits) {
      try (Elements e = split.elements();
          Elements other = split.elements()) {
        for (Tensor[] row = e.next(); row != null; row = e.next()) {
          all.add(row[0].longValue());
          Elements.release(row);
          if (all.size() % 17 == 0) {
            other.seek(e.position());
            Tensor[] next = other.next();
            if (next == null) {
              assertEquals(0, all.size() % 128 % ROWS);
            } else {
              assertRow(all.size(), next, 0);
              Elements.release(next);
            }
          }
        }
      }
    }
    assertEquals(LongStream.range(0, ROWS).boxed().toList(), all);
  }

  @Test
  void columnsOfAFileAreThoseThatAreSingleValues() throws IOException {
    List<Column> columns = ParquetFiles.columns(file("snappy.parquet"));
    assertEquals(
        List.of(
            "n",
            "small",
            "large",
            "float",
            "double",
            "flag",
            "word",
            "text",
            "fixed",
            "maybe",
            "perhaps",
            "user.age"),
        columns.stream().map(Column::name).toList());
    assertEquals(DType.INT8, columns.get(5).dtype());
  }

  @Test
  void errorsNameFileAndColumn() throws IOException {
    List<Path> file = List.of(file("snappy.parquet"));
    String none = messageOf(ParquetFiles.read(List.of(Column.of("m", DType.INT64)), file));
    assertTrue(none.contains("snappy.parquet has no column 'm'; it has [n, small, "), none);
    String wrong = messageOf(ParquetFiles.read(List.of(Column.of("word", DType.FLOAT)), file));
    assertTrue(
        wrong.contains("column 'word' has BYTE_ARRAY, which column 'word' of float cannot"), wrong);
    String list = messageOf(ParquetFiles.read(List.of(Column.of("ids", DType.INT64)), file));
    assertTrue(list.endsWith("column 'ids' has lists; read it with Column.list."), list);
    String single = messageOf(ParquetFiles.read(List.of(Column.list("n", DType.INT64, 2)), file));
    assertTrue(single.endsWith("has single values; read it with Column.of."), single);
    String decimal = messageOf(ParquetFiles.read(List.of(Column.of("price", DType.STRING)), file));
    assertTrue(decimal.contains("column 'price' has decimals in FIXED_LEN_BYTE_ARRAY"), decimal);
    String empty = messageOf(ParquetFiles.read(List.of(Column.of("maybe", DType.INT64)), file));
    assertTrue(empty.contains("column 'maybe' has no value in a row. Say what"), empty);
    String large = messageOf(ParquetFiles.read(List.of(Column.of("small", DType.INT8)), file));
    assertTrue(large.contains("'small' has the value -1000, which column 'small' of int8"), large);
    String brotli =
        messageOf(
            ParquetFiles.read(
                List.of(Column.of("n", DType.INT64)), List.of(file("brotli.parquet"))));
    assertTrue(brotli.contains("column 'n': it is compressed with BROTLI"), brotli);
    Path text = Files.writeString(folder.resolve("text.parquet"), "a,b\n1,2\n");
    MillraceException e = assertThrows(MillraceException.class, () -> ParquetFiles.columns(text));
    assertTrue(e.getMessage().contains("text.parquet is damaged, incomplete or not"), "" + e);
  }

  @Test
  void checksumsAreVerified() throws IOException {
    Path file = file("snappy.parquet");
    byte[] bytes = Files.readAllBytes(file);
    bytes[60] ^= 1;
    Files.write(file, bytes);
    String message = messageOf(ParquetFiles.read(COLUMNS, List.of(file)));
    assertTrue(message.contains("does not match its checksum"), message);
  }

  /** Whatever bytes are wrong, the file is read or refused; nothing else happens. */
  @ParameterizedTest
  @ValueSource(strings = {"none", "v2", "delta", "gzip"})
  void damagedFilesAreReadOrRefused(String name) throws IOException {
    byte[] good = Files.readAllBytes(file(name + ".parquet"));
    SplittableRandom random = new SplittableRandom(3);
    int refused = 0;
    for (int i = 0; i < 300; i++) {
      byte[] bytes = good.clone();
      int n = 1 + random.nextInt(3);
      for (int b = 0; b < n; b++) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
      }
      if (i % 10 == 0) {
        bytes = java.util.Arrays.copyOf(bytes, random.nextInt(bytes.length));
      }
      Path file = Files.write(folder.resolve("damaged"), bytes);
      try (Elements e = ParquetFiles.read(COLUMNS, List.of(file)).batch(50, false).elements()) {
        for (Tensor[] batch = e.next(); batch != null; batch = e.next()) {
          Elements.release(batch);
        }
      } catch (MillraceException e) {
        refused++;
      }
    }
    assertTrue(refused > 30, refused + " refused");
  }

  @Test
  void emptyListOfFilesHasNoRows() {
    try (Elements e = ParquetFiles.read(COLUMNS, List.of()).elements()) {
      assertNull(e.next());
    }
    assertArrayEquals(new Object[0], ParquetFiles.read(COLUMNS, List.of()).splits(0).toArray());
  }
}
