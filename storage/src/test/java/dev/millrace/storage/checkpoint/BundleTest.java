package dev.millrace.storage.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.Contents;
import dev.millrace.storage.Golden;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class BundleTest {
  @TempDir Path dir;

  private static ShapeAndSlice part(String text) {
    return ShapeAndSlice.parse(text).orElseThrow();
  }

  private static Code codeOf(Executable call) {
    return assertThrows(MillraceException.class, call).code();
  }

  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = {"RESOURCE", "VARIANT"})
  void everyTypeAndShapeIsReadAsWritten(DType dtype) {
    Random random = new Random(dtype.number());
    Path prefix = dir.resolve("new/directory/model.ckpt-1");
    Map<String, String> expected = new TreeMap<>();
    try (BundleWriter writer = new BundleWriter(prefix)) {
      for (Shape shape :
          List.of(
              Shape.scalar(),
              Shape.of(0),
              Shape.of(3, 0, 2),
              Shape.of(1),
              Shape.of(2, 3, 4),
              Shape.of(70, 1001))) {
        Tensor tensor = Contents.random(random, dtype, shape);
        writer.add("t" + shape, tensor);
        expected.put("t" + shape, Contents.of(tensor));
      }
      writer.finish();
    }
    try (BundleReader reader = new BundleReader(prefix)) {
      assertEquals(List.copyOf(expected.keySet()), reader.names());
      expected.forEach(
          (name, contents) -> {
            assertEquals(contents, Contents.consume(reader.read(name)));
            assertEquals(dtype, reader.dtype(name));
            assertEquals("t" + reader.shape(name), name);
          });
    }
  }

  @Test
  void anySliceIsAssembledFromThePartsThatWereSaved() {
    Path whole = dir.resolve("whole");
    Path parts = dir.resolve("parts");
    int cases = 100;
    try (BundleWriter writer = new BundleWriter(whole)) {
      for (int seed = 0; seed < cases; seed++) {
        Random random = new Random(seed);
        DType dtype = List.of(DType.FLOAT, DType.STRING, DType.INT8).get(seed % 3);
        Shape full =
            Shape.of(1 + random.nextInt(seed % 10 == 0 ? 200 : 12), 1 + random.nextInt(9), 3);
        writer.add("t" + seed, Contents.random(random, dtype, full));
      }
      writer.finish();
    }
    try (BundleReader reader = new BundleReader(whole);
        BundleWriter writer = new BundleWriter(parts)) {
      for (int seed = 0; seed < cases; seed++) {
        String name = "t" + seed;
        for (ShapeAndSlice piece : randomGrid(new Random(seed), reader.shape(name))) {
          Tensor t = reader.read(name, piece);
          writer.add(name, piece, t);
          t.close();
        }
      }
      writer.finish();
    }
    try (BundleReader a = new BundleReader(whole);
        BundleReader b = new BundleReader(parts)) {
      for (int seed = 0; seed < cases; seed++) {
        String name = "t" + seed;
        assertEquals(Contents.consume(a.read(name)), Contents.consume(b.read(name)), name);
        Random random = new Random(seed);
        for (int i = 0; i < 10; i++) {
          ShapeAndSlice wanted = randomSlice(random, a.shape(name));
          assertEquals(
              Contents.consume(a.read(name, wanted)),
              Contents.consume(b.read(name, wanted)),
              () -> name + " slice " + wanted);
        }
      }
    }
  }

  private static ShapeAndSlice randomSlice(Random random, Shape full) {
    long r = random.nextLong(full.dim(0));
    long c = random.nextLong(full.dim(1));
    long rows = 1 + random.nextLong(full.dim(0) - r);
    long columns = 1 + random.nextLong(full.dim(1) - c);
    return new ShapeAndSlice(
        full, TensorSlice.of(new long[] {r, c, 1}, new long[] {rows, columns, 2}));
  }

  /** The tensor cut along random lines, its pieces in random order. */
  private static List<ShapeAndSlice> randomGrid(Random random, Shape full) {
    List<ShapeAndSlice> grid = new ArrayList<>();
    for (long[] r : cuts(random, full.dim(0))) {
      for (long[] c : cuts(random, full.dim(1))) {
        TensorSlice slice = TensorSlice.of(new long[] {r[0], c[0], 0}, new long[] {r[1], c[1], 3});
        grid.add(new ShapeAndSlice(full, slice));
      }
    }
    Collections.shuffle(grid, random);
    return grid;
  }

  /** Start and length of the pieces of a dimension cut at random. */
  private static List<long[]> cuts(Random random, long size) {
    List<long[]> pieces = new ArrayList<>();
    for (long start = 0; start < size; ) {
      long length = 1 + random.nextLong(size - start);
      pieces.add(new long[] {start, length});
      start += length;
    }
    return pieces;
  }

  @Test
  void aSliceLargerThanTheBufferKeepsItsOrder() {
    Path prefix = dir.resolve("m");
    Shape full = Shape.of(1500, 700);
    int[] values = new int[1500 * 700];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    try (BundleWriter writer = new BundleWriter(prefix)) {
      writer.add("t", Tensor.of(full, values));
      writer.finish();
    }
    try (BundleReader reader = new BundleReader(prefix)) {
      Tensor middle = reader.read("t", part("1500 700 10,1400:3,650"));
      for (int r = 0; r < 1400; r++) {
        for (int c = 0; c < 650; c++) {
          assertEquals((r + 10) * 700 + c + 3, middle.longAt(r * 650L + c));
        }
      }
      middle.close();
    }
  }

  @Test
  void aPartThatIsAllOfItIsStoredWhole() {
    Path prefix = dir.resolve("m");
    try (BundleWriter writer = new BundleWriter(prefix)) {
      writer.add("t", part("2 -"), Tensor.vector(1f, 2f));
      writer.finish();
    }
    try (BundleReader reader = new BundleReader(prefix)) {
      assertEquals(List.of(), reader.slices("t"));
    }
  }

  @Test
  void callersMistakesAreNamed() {
    Path prefix = dir.resolve("m");
    Tensor two = Tensor.vector(1f, 2f);
    try (BundleWriter writer = new BundleWriter(prefix)) {
      writer.add("a", two);
      writer.add("p", part("6 0,2"), two);
      assertEquals(Code.ALREADY_EXISTS, codeOf(() -> writer.add("a", two)));
      assertEquals(Code.ALREADY_EXISTS, codeOf(() -> writer.add("a", part("4 0,2"), two)));
      assertEquals(Code.ALREADY_EXISTS, codeOf(() -> writer.add("p", part("6 0,2"), two)));
      assertEquals(Code.ALREADY_EXISTS, codeOf(() -> writer.add("p", two)));
      assertEquals(Code.INVALID_ARGUMENT, codeOf(() -> writer.add("p", part("7 2,2"), two)));
      assertEquals(Code.INVALID_ARGUMENT, codeOf(() -> writer.add("q", part("7 2,3"), two)));
      assertEquals(Code.INVALID_ARGUMENT, codeOf(() -> writer.add("", two)));
      Tensor ints = Tensor.vector(1, 2);
      assertEquals(Code.INVALID_ARGUMENT, codeOf(() -> writer.add("p", part("6 2,2"), ints)));
      Tensor handle = Tensor.ofObjects(DType.RESOURCE, Shape.scalar(), new Object[1]);
      assertEquals(Code.UNIMPLEMENTED, codeOf(() -> writer.add("r", handle)));
      writer.finish();
    }
    try (BundleReader reader = new BundleReader(prefix)) {
      assertTrue(reader.contains("p"));
      assertFalse(reader.contains("r"));
      assertFalse(reader.contains(""));
      assertEquals(Code.NOT_FOUND, codeOf(() -> reader.read("b")));
      assertEquals(Code.NOT_FOUND, codeOf(() -> reader.read("p")), "only part of it is there");
      assertEquals(Code.NOT_FOUND, codeOf(() -> reader.read("p", part("6 1,2"))));
      assertEquals(Code.INVALID_ARGUMENT, codeOf(() -> reader.read("p", part("7 0,2"))));
      assertEquals(Contents.of(two), Contents.consume(reader.read("p", part("6 0,2"))));
    }
    assertEquals(Code.NOT_FOUND, codeOf(() -> new BundleReader(dir.resolve("other"))));
  }

  @Test
  void withoutFinishNothingIsLeftAndTheOldBundleStays() throws IOException {
    Path prefix = dir.resolve("m");
    try (BundleWriter writer = new BundleWriter(prefix)) {
      writer.add("old", Tensor.scalar(1f));
      writer.finish();
    }
    try (BundleWriter writer = new BundleWriter(prefix)) {
      writer.add("new", Tensor.scalar(2f));
    }
    assertEquals(List.of("old"), List.copyOf(Contents.of(prefix).keySet()));
    try (var files = Files.list(dir)) {
      assertEquals(2, files.count());
    }
    try (BundleWriter writer = new BundleWriter(prefix)) {
      writer.add("new", Tensor.scalar(2f));
      writer.finish();
    }
    assertEquals(List.of("new"), List.copyOf(Contents.of(prefix).keySet()));
    try (var files = Files.list(dir)) {
      assertEquals(2, files.count());
    }
  }

  @Test
  void readsWhatTensorFlowWrote() {
    try (BundleReader reader = new BundleReader(Golden.path("kinds"))) {
      assertEquals(13, reader.names().size());
      assertEquals(3.5f, reader.read("scalar").floatValue());
      assertArrayEquals(new long[] {1, 0, 1}, reader.read("bool").toLongs());
      assertArrayEquals(
          new String[] {"ab", "", "x".repeat(300), "\u00e9"}, reader.read("strings").toStrings());
      assertEquals("hello", reader.read("onestring").stringValue());
      assertEquals(Shape.of(0, 2), reader.read("emptystrings").shape());
      assertArrayEquals(new float[] {1.5f, -2}, reader.read("bf16").toFloats());
      assertArrayEquals(new long[] {1L << 62, -1}, reader.read("i64").toLongs());
      assertEquals(Shape.of(0, 7), reader.shape("empty"));
      assertEquals(DType.DOUBLE, reader.dtype("d"));
    }
  }

  @Test
  void writesTheBytesTensorFlowWrites() throws IOException {
    Path prefix = dir.resolve("kinds");
    try (BundleReader reader = new BundleReader(Golden.path("kinds"));
        BundleWriter writer = new BundleWriter(prefix)) {
      // The order in which TensorFlow was given them.
      for (String name :
          "scalar bool strings onestring emptystrings bf16 half i8 u16 i64 empty m/kernel d"
              .split(" ")) {
        writer.add(name, reader.read(name));
      }
      writer.finish();
    }
    for (String suffix : List.of(".index", ".data-00000-of-00001")) {
      assertArrayEquals(
          Files.readAllBytes(Golden.path("kinds" + suffix)),
          Files.readAllBytes(dir.resolve("kinds" + suffix)),
          suffix);
    }
  }

  @Test
  void readsPartitionedTensorsOfTensorFlow() {
    try (BundleReader reader = new BundleReader(Golden.path("parts"))) {
      assertEquals(List.of("b0", "b1", "p", "s"), reader.names());
      assertEquals(Shape.of(300, 2), reader.shape("p"));
      assertEquals(
          List.of("0,150:0,2", "150,150:0,2"),
          reader.slices("p").stream().map(TensorSlice::toString).toList());
      Tensor p = reader.read("p");
      for (int i = 0; i < 600; i++) {
        assertEquals(i, p.longAt(i));
      }
      assertArrayEquals(
          new int[] {298, 299, 300, 301}, reader.read("p", part("300 2 149,2:-")).toInts());
      assertArrayEquals(
          new String[] {"r0c1", "r0c2", "r1c1", "r1c2", "r2c1", "r2c2"},
          reader.read("s", part("3 4 -:1,2")).toStrings());
    }
  }

  @Test
  void readsCompressedIndexes() {
    try (BundleReader reader = new BundleReader(Golden.path("snappy"))) {
      assertEquals(60, reader.names().size());
      assertEquals(42, reader.read("layer_42/weights").intValue());
    }
  }

  @Test
  void savesUnderOnePrefixAtOnceLeaveOneThatIsWhole() throws Exception {
    Path prefix = dir.resolve("model");
    CyclicBarrier start = new CyclicBarrier(4);
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      for (int round = 0; round < 20; round++) {
        List<Future<?>> saves = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
          Path part = dir.resolve("part" + round + "_" + t);
          float value = t;
          saves.add(
              threads.submit(
                  () -> {
                    try (BundleWriter writer = new BundleWriter(part)) {
                      writer.add("v", Tensor.vector(value, value));
                      writer.finish();
                    }
                    start.await(60, TimeUnit.SECONDS);
                    BundleMerge.merge(List.of(part), prefix, false, false);
                    return null;
                  }));
        }
        for (Future<?> save : saves) {
          save.get(60, TimeUnit.SECONDS);
        }
        try (BundleReader reader = new BundleReader(prefix)) {
          Tensor v = reader.read("v");
          assertEquals(v.doubleAt(0), v.doubleAt(1));
          v.close();
        }
      }
    }
    try (var files = Files.list(dir)) {
      assertEquals(2, files.count(), "one index and one data file");
    }
  }
}
