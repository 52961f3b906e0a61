package dev.millrace.train.data.record;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.BytesList;
import dev.millrace.proto.Example;
import dev.millrace.proto.Feature;
import dev.millrace.proto.FeatureList;
import dev.millrace.proto.FeatureLists;
import dev.millrace.proto.Features;
import dev.millrace.proto.FloatList;
import dev.millrace.proto.Int64List;
import dev.millrace.proto.SequenceExample;
import dev.millrace.storage.record.RecordWriter;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.file.BadRows;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RecordFilesTest {
  private static final List<Column> COLUMNS =
      List.of(
          Column.of("n", DType.INT64),
          Column.vector("xy", DType.FLOAT, "x", "y").orElse("-9"),
          Column.list("ids", DType.INT32, 3),
          Column.of("name", DType.STRING));

  @TempDir Path folder;

  private static Feature floats(float... values) {
    FloatList.Builder list = FloatList.newBuilder();
    for (float v : values) {
      list.addValue(v);
    }
    return Feature.newBuilder().setFloatList(list).build();
  }

  private static Feature longs(long... values) {
    Int64List.Builder list = Int64List.newBuilder();
    for (long v : values) {
      list.addValue(v);
    }
    return Feature.newBuilder().setInt64List(list).build();
  }

  private static Feature text(String value) {
    BytesList list = BytesList.newBuilder().addValue(ByteString.copyFromUtf8(value)).build();
    return Feature.newBuilder().setBytesList(list).build();
  }

  private static Features.Builder features(long n) {
    return Features.newBuilder()
        .putFeature("x", floats(n + .5f))
        .putFeature("not read", text("?"))
        .putFeature("ids", longs(LongStream.range(0, n % 5).toArray()))
        .putFeature("name", text("n" + n))
        .putFeature("n", longs(n));
  }

  private static byte[] example(Features.Builder features) {
    return Example.newBuilder().setFeatures(features).build().toByteArray();
  }

  private Path file(String name, byte[]... records) {
    Path file = folder.resolve(name);
    try (RecordWriter out = RecordWriter.create(file)) {
      for (byte[] record : records) {
        out.write(record);
      }
    }
    return file;
  }

  private static List<Long> numbers(Elements e, int most) {
    List<Long> found = new ArrayList<>();
    for (Tensor[] row; found.size() < most && (row = e.next()) != null; ) {
      found.add(row[0].longValue());
      Elements.release(row);
    }
    return found;
  }

  private static String messageOf(Dataset data) {
    try (Elements e = data.elements()) {
      return assertThrows(MillraceException.class, e::next).getMessage();
    }
  }

  @Test
  void featuresAreWrittenIntoColumns() {
    Path a = file("a", example(features(7)));
    Path b = file("b", example(features(4)), example(features(0).removeFeature("ids")));
    Dataset data = RecordFiles.examples(COLUMNS, List.of(a, b)).batch(3, false);
    try (Elements e = data.elements()) {
      Tensor[] batch = e.next();
      assertArrayEquals(new long[] {7, 4, 0}, batch[0].toLongs());
      assertEquals(Shape.of(3, 2), batch[1].shape());
      assertArrayEquals(new float[] {7.5f, -9, 4.5f, -9, .5f, -9}, batch[1].toFloats());
      assertArrayEquals(new int[] {0, 1, -1, 0, 1, 2, -1, -1, -1}, batch[2].toInts());
      assertArrayEquals(new String[] {"n7", "n4", "n0"}, batch[3].toStrings());
      assertNull(e.next());
      Elements.release(batch);
    }
  }

  @Test
  void sequencesAreFilledUpOrCut() {
    SequenceExample example =
        SequenceExample.newBuilder()
            .setContext(features(3))
            .setFeatureLists(
                FeatureLists.newBuilder()
                    .putFeatureList(
                        "steps",
                        FeatureList.newBuilder()
                            .addFeature(floats(1, 2))
                            .addFeature(floats(3, 4))
                            .build())
                    .putFeatureList(
                        "words",
                        FeatureList.newBuilder()
                            .addFeature(text("a"))
                            .addFeature(text("b"))
                            .build()))
            .build();
    Path file = file("a", example.toByteArray());
    Dataset data =
        RecordFiles.sequences(
            List.of(Column.of("n", DType.INT64)),
            List.of(
                Column.list("steps", DType.FLOAT, 6),
                Column.list("words", DType.STRING, 1),
                Column.list("none", DType.INT64, 2)),
            List.of(file),
            BadRows.upTo(0));
    try (Elements e = data.elements()) {
      Tensor[] row = e.next();
      assertEquals(3, row[0].longValue());
      assertArrayEquals(new float[] {1, 2, 3, 4, 0, 0}, row[1].toFloats());
      assertArrayEquals(new String[] {"a"}, row[2].toStrings());
      assertArrayEquals(new long[] {-1, -1}, row[3].toLongs());
      Elements.release(row);
    }
  }

  @Test
  void splitsHaveEveryRecordOnceAndAnyPositionCanBeGoneBackTo() {
    byte[][] records = new byte[6000][];
    SplittableRandom random = new SplittableRandom(5);
    for (int i = 0; i < records.length; i++) {
      Features.Builder f = features(i).putFeature("more", text("x".repeat(random.nextInt(2000))));
      records[i] = example(f);
    }
    Dataset data = RecordFiles.examples(COLUMNS, List.of(file("large", records)));
    List<Dataset> splits = data.splits(0);
    assertTrue(splits.size() > 3, splits.size() + " splits");
    List<Long> all = new ArrayList<>();
    for (Dataset split : splits) {
      try (Elements e = split.elements();
          Elements other = split.elements()) {
        List<Long> first = numbers(e, 10);
        other.seek(e.position());
        List<Long> rest = numbers(e, Integer.MAX_VALUE);
        assertEquals(rest, numbers(other, Integer.MAX_VALUE));
        all.addAll(first);
        all.addAll(rest);
      }
    }
    assertEquals(LongStream.range(0, records.length).boxed().toList(), all);
  }

  @Test
  void zippedFilesAreReadByTheirNames() throws IOException {
    Path plain = file("a", example(features(1)), example(features(2)), example(features(3)));
    Path zipped = folder.resolve("a.gz");
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(zipped))) {
      Files.copy(plain, out);
    }
    Dataset data = RecordFiles.examples(COLUMNS, List.of(zipped));
    try (Elements e = data.elements();
        Elements other = data.elements()) {
      assertEquals(List.of(1L), numbers(e, 1));
      other.seek(e.position());
      assertEquals(List.of(2L, 3L), numbers(other, 9));
    }
  }

  @Test
  void errorsNameFileRecordAndFeature() throws IOException {
    Path good = file("good", example(features(1)));
    Path none = file("none", example(features(1).removeFeature("n")));
    assertTrue(
        messageOf(RecordFiles.examples(COLUMNS, List.of(none)))
            .endsWith(
                "none: the record at byte 0 has no feature 'n'. Say what a missing one stands for"
                    + " with orElse."));
    Path two = file("two", example(features(1).putFeature("n", longs(1, 2))));
    assertTrue(
        messageOf(RecordFiles.examples(COLUMNS, List.of(two)))
            .contains("two: the record at byte 0: feature 'n' has 2 values, not one."));
    Path wrong = file("wrong", example(features(1).putFeature("n", floats(1))));
    assertTrue(
        messageOf(RecordFiles.examples(COLUMNS, List.of(wrong)))
            .endsWith("'n' has floats, which column 'n' of int64 cannot hold."));
    Path junk = file("junk", new byte[] {9, 9, 9});
    assertTrue(
        messageOf(RecordFiles.examples(COLUMNS, List.of(junk)))
            .contains("junk: the record at byte 0 is not a tf.Example."));
    byte[] bytes = Files.readAllBytes(good);
    bytes[20] ^= 1;
    Path damaged = Files.write(folder.resolve("damaged"), bytes);
    assertTrue(
        messageOf(RecordFiles.examples(COLUMNS, List.of(damaged))).contains("it is damaged"));
    // In the middle of a list of files: those before it are read, and it is named.
    Path away = folder.resolve("away");
    MillraceException e =
        assertThrows(
            MillraceException.class, () -> RecordFiles.examples(COLUMNS, List.of(good, away)));
    assertTrue(e.getMessage().contains("Cannot read " + away), e.getMessage());
  }

  @Test
  void badRecordsAreCountedAndPassedOver() {
    Path file =
        file(
            "a",
            example(features(1)),
            example(features(2).removeFeature("n")),
            example(features(3)));
    BadRows bad = BadRows.upTo(1);
    try (Elements e = RecordFiles.examples(COLUMNS, List.of(file), bad).elements()) {
      assertEquals(List.of(1L, 3L), numbers(e, 9));
    }
    assertEquals(1, bad.count());
  }
}
