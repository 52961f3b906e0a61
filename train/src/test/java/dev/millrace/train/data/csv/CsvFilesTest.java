package dev.millrace.train.data.csv;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.column.FieldNumbers;
import dev.millrace.train.data.file.BadRows;
import io.airlift.compress.v3.zstd.ZstdOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class CsvFilesTest {
  private static final CsvSchema NUMBER_AND_NAME =
      CsvSchema.of(Column.of("n", DType.INT64), Column.of("name", DType.STRING));

  @TempDir Path folder;

  private Path file(String name, String text) {
    try {
      return Files.writeString(folder.resolve(name), text);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static List<Long> numbers(Dataset data) {
    List<Long> found = new ArrayList<>();
    try (Elements e = data.batch(100, false).elements()) {
      for (Tensor[] batch = e.next(); batch != null; batch = e.next()) {
        for (long n : batch[0].toLongs()) {
          found.add(n);
        }
        Elements.release(batch);
      }
    }
    return found;
  }

  private static String messageOf(Dataset data) {
    try (Elements e = data.batch(100, false).elements()) {
      return assertThrows(MillraceException.class, e::next).getMessage();
    }
  }

  /** A file of more than a megabyte per split, with lines of different lengths. */
  private Path large(int rows) {
    StringBuilder text = new StringBuilder();
    SplittableRandom random = new SplittableRandom(5);
    for (int i = 0; i < rows; i++) {
      text.append(i).append(',').repeat('x', random.nextInt(60)).append('\n');
    }
    return file("large.csv", text.toString());
  }

  @Test
  void fieldsAreWrittenIntoColumns() {
    Path csv = file("a.csv", "b,x,y,name\n0,1.5,2,\"a, \"\"b\"\"\"\n\n1,-1,7e1,c\r\n0,,0,\n");
    CsvSchema schema =
        CsvSchema.of(
                Column.of("name", DType.STRING),
                Column.vector("xy", DType.FLOAT, "x", "y").orElse("-9"))
            .withHeader();
    try (Elements e = CsvFiles.read(schema, List.of(csv)).batch(10, false).elements()) {
      Tensor[] batch = e.next();
      assertArrayEquals(new String[] {"a, \"b\"", "c", ""}, batch[0].toStrings());
      assertEquals(Shape.of(3, 2), batch[1].shape());
      assertArrayEquals(new float[] {1.5f, 2, -1, 70, -9, 0}, batch[1].toFloats());
      assertNull(e.next());
      Elements.release(batch);
    }
  }

  @Test
  void listsAreFilledUpOrCut() {
    Path csv = file("a.csv", "1|2,a\n,\n3|4|5,b|c|d\n");
    CsvSchema schema =
        CsvSchema.of(Column.list("ids", DType.INT64, 2), Column.list("words", DType.STRING, 2));
    try (Elements e = CsvFiles.read(schema, List.of(csv)).batch(10, false).elements()) {
      Tensor[] batch = e.next();
      assertArrayEquals(new long[] {1, 2, -1, -1, 3, 4}, batch[0].toLongs());
      assertArrayEquals(new String[] {"a", "", "", "", "b", "c"}, batch[1].toStrings());
      Elements.release(batch);
    }
  }

  @Test
  void errorsNameFileLineAndField() {
    assertTrue(
        messageOf(CsvFiles.read(NUMBER_AND_NAME, List.of(file("a.csv", "1,a\n\ntwo,b\n"))))
            .endsWith("a.csv line 3: field 1, 'n', is 'two', which is not a int64."));
    assertTrue(
        messageOf(CsvFiles.read(NUMBER_AND_NAME, List.of(file("a.csv", "1,a\n,b\n"))))
            .contains("a.csv line 2: field 1, 'n', is empty, which is not a int64. Say what"));
    assertTrue(
        messageOf(CsvFiles.read(NUMBER_AND_NAME, List.of(file("a.csv", "1,a\n2\n"))))
            .endsWith("a.csv line 2 has 1 fields; 2 were expected."));
    assertTrue(
        messageOf(CsvFiles.read(NUMBER_AND_NAME, List.of(file("a.csv", "1,\"a\n2,b\n"))))
            .contains("line 1: the quotes of field 2 are not closed"));
    CsvSchema bytes = CsvSchema.of(Column.of("n", DType.UINT8));
    assertTrue(
        messageOf(CsvFiles.read(bytes, List.of(file("a.csv", "256\n"))))
            .endsWith("'256', which is not a uint8."));
    assertTrue(
        messageOf(CsvFiles.read(NUMBER_AND_NAME.withHeader(), List.of(file("a.csv", "n,m\n1,a\n"))))
            .contains("has no column 'name': its first line names [n, m]"));
  }

  @Test
  void badRowsAreCountedAndPassedOverUpToTheLimit() {
    Path csv = file("a.csv", "0,a\nx,a\n1,a\n1\n2,a\n");
    BadRows bad = BadRows.upTo(2);
    Dataset data = CsvFiles.read(NUMBER_AND_NAME.skipping(bad), List.of(csv));
    assertEquals(List.of(0L, 1L, 2L), numbers(data));
    assertEquals(2, bad.count());
    assertEquals(List.of(0L, 1L, 2L), numbers(data));
    assertEquals(2, bad.count(), "a row that is read again counts once");
    String message =
        messageOf(CsvFiles.read(NUMBER_AND_NAME.skipping(BadRows.upTo(1)), List.of(csv)));
    assertTrue(message.startsWith("More than 1 rows of the input are bad"), message);
    assertTrue(message.endsWith("a.csv line 4 has 1 fields; 2 were expected."), message);
  }

  @Test
  void lineBreaksInQuotesAreReadIfAskedFor() {
    Path csv = file("a.csv", "1,\"a\nb\"\n2,c");
    Dataset data = CsvFiles.read(NUMBER_AND_NAME.withLineBreaks(), List.of(csv));
    try (Elements e = data.elements()) {
      assertEquals("a\nb", e.next()[1].stringValue());
      assertEquals("c", e.next()[1].stringValue());
      assertNull(e.next());
    }
  }

  /** The time for a quote that is never closed does not grow with the square of the file. */
  @Test
  @Timeout(60)
  void aQuoteThatIsNotClosedIsFoundInALargeFile() {
    Path csv = file("open.csv", "1,\"open\n" + "2,b\n".repeat(1_000_000));
    Dataset data = CsvFiles.read(NUMBER_AND_NAME.withLineBreaks(), List.of(csv));
    try (Elements e = data.elements()) {
      MillraceException x = assertThrows(MillraceException.class, e::next);
      assertTrue(x.getMessage().contains("line 1: the quotes of field 2"), x.getMessage());
    }
  }

  @Test
  void compressedFilesOfAGlobAreReadInTheOrderOfTheirNames() throws IOException {
    file("day-1.csv", "0,a\n1,a\n");
    try (OutputStream out =
        new GZIPOutputStream(Files.newOutputStream(folder.resolve("day-2.csv.gz")))) {
      out.write("2,a\n3,a\n".getBytes(StandardCharsets.UTF_8));
    }
    try (OutputStream out =
        new ZstdOutputStream(Files.newOutputStream(folder.resolve("day-3.csv.zst")))) {
      out.write("4,a\n".getBytes(StandardCharsets.UTF_8));
    }
    assertEquals(
        List.of(0L, 1L, 2L, 3L, 4L), numbers(CsvFiles.read(NUMBER_AND_NAME, folder + "/day-*")));
    file("day-2.csv.gz", "not compressed");
    String message = messageOf(CsvFiles.read(NUMBER_AND_NAME, folder + "/day-*"));
    assertTrue(message.contains("Cannot decompress " + folder + "/day-2.csv.gz"), message);
    MillraceException none =
        assertThrows(
            MillraceException.class, () -> CsvFiles.read(NUMBER_AND_NAME, folder + "/night-*"));
    assertTrue(none.getMessage().startsWith("No file is named"), none.getMessage());
  }

  @Test
  void splitsTogetherHaveEveryRowOnce() {
    int rows = 150_000;
    Dataset data = CsvFiles.read(NUMBER_AND_NAME, List.of(large(rows)));
    List<Long> all = LongStream.range(0, rows).boxed().toList();
    assertEquals(all, numbers(data));
    List<Dataset> splits = data.splits(0);
    assertTrue(splits.size() > 3, splits.size() + " splits");
    List<Long> joined = new ArrayList<>();
    splits.forEach(s -> joined.addAll(numbers(s)));
    assertEquals(all, joined);
    List<Long> shuffled = new ArrayList<>();
    data.shuffle(1000, 3).splits(1).forEach(s -> shuffled.addAll(numbers(s)));
    assertTrue(!shuffled.equals(all));
    assertEquals(all, shuffled.stream().sorted().toList());
  }

  @Test
  void anyPositionCanBeGoneBackTo() {
    int rows = 100_000;
    Dataset data = CsvFiles.read(NUMBER_AND_NAME, List.of(large(rows))).batch(7000, false);
    try (Elements e = data.elements()) {
      for (long n = 7000; n < rows; n += 7000) {
        Elements.release(e.next());
        try (Elements other = data.elements()) {
          other.seek(e.position());
          Tensor[] next = other.next();
          assertEquals(n, next[0].longAt(0));
          Elements.release(next);
        }
      }
    }
  }

  @Test
  void numbersAreReadAsJavaReadsThem() {
    SplittableRandom random = new SplittableRandom(11);
    for (int i = 0; i < 200_000; i++) {
      String text =
          switch (i % 4) {
            case 0 -> Double.toString(Double.longBitsToDouble(random.nextLong()));
            case 1 -> Float.toString(Float.intBitsToFloat(random.nextInt()));
            case 2 -> random.nextInt(-9999, 9999) + "." + random.nextInt(1_000_000);
            default -> Long.toString(random.nextLong() >> random.nextInt(64));
          };
      byte[] b = text.getBytes(StandardCharsets.US_ASCII);
      assertEquals(Double.parseDouble(text), FieldNumbers.number(b, 0, b.length), text);
      assertEquals(Float.parseFloat(text), FieldNumbers.single(b, 0, b.length), text);
      if (i % 4 == 3) {
        long all = FieldNumbers.whole(b, 0, b.length, Long.MIN_VALUE, Long.MAX_VALUE);
        assertEquals(Long.parseLong(text), all);
      }
    }
  }
}
