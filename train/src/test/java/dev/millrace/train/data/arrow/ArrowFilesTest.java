package dev.millrace.train.data.arrow;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.column.Column;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that pyarrow has written; {@code files.py} beside them says what is in them. */
class ArrowFilesTest {
  private static final int ROWS = 300;
  private static final List<Column> COLUMNS =
      List.of(
          Column.of("n", DType.INT64),
          Column.of("text", DType.STRING),
          Column.of("large", DType.STRING),
          Column.vector("numbers", DType.FLOAT, "f", "half", "u"),
          Column.of("maybe", DType.INT32).orElse("-5"),
          Column.of("flag", DType.INT8),
          Column.list("tags", DType.INT32, 3),
          Column.list("pair", DType.DOUBLE, 2),
          Column.of("word", DType.STRING),
          Column.of("age", DType.INT16).from("user.age").orElse("-1"),
          Column.of("name", DType.STRING).from("user.name").orElse("nobody"),
          Column.of("when", DType.INT64),
          Column.of("code", DType.STRING),
          Column.of("none", DType.FLOAT).orElse("7"),
          Column.list("words", DType.STRING, 3));

  @TempDir Path dir;

  private static Path file(String name) {
    try {
      return Path.of(ArrowFilesTest.class.getResource(name).toURI());
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }

  private static void assertRow(int i, Tensor[] row) {
    assertEquals(i, row[0].longValue());
    assertEquals("text of number " + i, row[1].stringValue());
    assertEquals("large " + i, row[2].stringValue());
    assertArrayEquals(new float[] {i / 4f, i % 8 / 2f, i * 200}, row[3].toFloats());
    assertEquals(i % 3 == 0 ? -5 : i, row[4].intValue());
    assertEquals(i % 2 == 0 ? 1 : 0, row[5].longValue());
    long[] tags = new long[3];
    for (int t = 0; t < 3; t++) {
      tags[t] = i % 7 == 0 || t >= i % 5 ? -1 : t;
    }
    assertArrayEquals(tags, row[6].toLongs());
    assertArrayEquals(new double[] {i, i + .5}, row[7].toDoubles());
    assertEquals(
        i % 11 == 0 ? "" : List.of("red", "green", "blue").get(i % 3), row[8].stringValue());
    assertEquals(i % 13 == 0 ? -1 : i % 100, row[9].longValue());
    assertEquals(i % 13 == 0 || i % 2 == 1 ? "nobody" : "user " + i, row[10].stringValue());
    assertEquals(i * 1000L, row[11].longValue());
    assertEquals(String.format("%03d", i), row[12].stringValue());
    assertEquals(7, row[13].floatValue());
    assertArrayEquals(new String[] {"w" + i % 3, "w" + i % 2, ""}, row[14].toStrings(), "row " + i);
  }

  private static int check(Dataset data, int from) {
    int i = from;
    try (Elements e = data.elements()) {
      for (Tensor[] row = e.next(); row != null; row = e.next()) {
        assertRow(i++, row);
        Elements.release(row);
      }
    }
    return i;
  }

  @ParameterizedTest
  @ValueSource(strings = {"plain.arrow", "lz4.arrow", "zstd.arrow"})
  void allKindsOfFieldsAreRead(String name) {
    Dataset data = ArrowFiles.read(COLUMNS, List.of(file(name)));
    assertEquals(ROWS, check(data, 0));
    List<Dataset> splits = data.splits(0);
    assertEquals(3, splits.size());
    assertEquals(200, check(splits.get(0), 0));
    assertEquals(299, check(splits.get(1), 200));
  }

  @Test
  void anyPositionCanBeGoneBackTo() {
    Dataset data = ArrowFiles.read(COLUMNS, List.of(file("lz4.arrow")));
    try (Elements e = data.elements();
        Elements other = data.elements()) {
      for (int i = 0; i < ROWS; i++) {
        long[] position = e.position();
        Tensor[] row = e.next();
        Elements.release(row);
        if (i % 37 == 0 || i > 296) {
          other.seek(position);
          Tensor[] again = other.next();
          assertRow(i, again);
          Elements.release(again);
        }
      }
    }
  }

  private static void drain(Dataset data) {
    try (Elements e = data.elements()) {
      for (Tensor[] row = e.next(); row != null; row = e.next()) {
        Elements.release(row);
      }
    }
  }

  private static void refused(String message, Column... columns) {
    refused(message, file("plain.arrow"), columns);
  }

  private static void refused(String message, Path file, Column... columns) {
    MillraceException e =
        assertThrows(
            MillraceException.class, () -> drain(ArrowFiles.read(List.of(columns), List.of(file))));
    assertTrue(e.getMessage().contains(message), e.getMessage());
    assertTrue(e.getMessage().contains(file.toString()), e.getMessage());
  }

  @Test
  void errorsNameFileAndColumn() throws IOException {
    refused("has no column 'x'; it has [n, text, large,", Column.of("x", DType.FLOAT));
    refused("column 'text' has values of kind STRING", Column.of("text", DType.FLOAT));
    refused("column 'price' has values of kind OTHER", Column.of("price", DType.FLOAT));
    refused("column 'tags' has lists; read it with Column.list", Column.of("tags", DType.INT32));
    refused("'n' has single values; read it with Column.of", Column.list("n", DType.INT32, 2));
    refused("column 'maybe' has no value in a row", Column.of("maybe", DType.INT32));
    refused("column 'u' of int8 cannot hold", Column.of("u", DType.INT8));
    Column n = Column.of("n", DType.INT64);
    refused("is a stream of Arrow messages", file("stream.arrows"), n);
    refused("does not begin as one does", Files.writeString(dir.resolve("a"), "not Arrow"), n);
    byte[] whole = Files.readAllBytes(file("plain.arrow"));
    Path half = Files.write(dir.resolve("half"), Arrays.copyOf(whole, 5000));
    refused("does not end as one does", half, n);
  }

  /** Whatever the bytes are: read or refused, never another failure. */
  @ParameterizedTest
  @ValueSource(strings = {"plain.arrow", "lz4.arrow", "zstd.arrow"})
  void damageIsRefused(String name) throws IOException {
    byte[] whole = Files.readAllBytes(file(name));
    SplittableRandom random = new SplittableRandom(7);
    Path file = dir.resolve("damaged.arrow");
    for (int round = 0; round < 40; round++) {
      byte[] changed = whole.clone();
      for (int k = 0; k < 1 + round % 4; k++) {
        // Most of what can go wrong is in the metadata, in front and at the end.
        int at = round % 2 == 0 ? whole.length - 1 - random.nextInt(6000) : random.nextInt(3000);
        changed[at] = (byte) random.nextInt();
      }
      Files.write(file, changed);
      try {
        drain(ArrowFiles.read(COLUMNS, List.of(file)));
      } catch (MillraceException e) {
        assertTrue(e.getMessage().contains(file.toString()), e.getMessage());
      }
    }
  }
}
