package dev.millrace.storage.array;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.Contents;
import dev.millrace.storage.Golden;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.storage.checkpoint.BundleWriter;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files of NumPy and safetensors, which {@code arrays.py} beside the golden ones has written. */
class ArrayFilesTest {
  @TempDir Path dir;

  private static void assertMatrix(TensorSource source, String name, DType dtype) {
    assertEquals(dtype, source.dtype(name), name);
    assertEquals(Shape.of(3, 4), source.shape(name), name);
    double[] expected = new double[12];
    for (int i = 0; i < 12; i++) {
      expected[i] = i % 5;
    }
    try (Tensor t = source.read(name)) {
      assertArrayEquals(expected, t.toDoubles(), name);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"arrays.npz", "compressed.npz"})
  void arraysOfNumPyAreRead(String file) {
    try (TensorSource source = ArrayFiles.open(Golden.path(file))) {
      Map<String, DType> types =
          Map.of(
              "f2",
              DType.HALF,
              "f4",
              DType.FLOAT,
              "f8",
              DType.DOUBLE,
              "i1",
              DType.INT8,
              "i4",
              DType.INT32,
              "i8",
              DType.INT64,
              "u1",
              DType.UINT8,
              "u4",
              DType.UINT32);
      types.forEach((code, dtype) -> assertMatrix(source, "layer/" + code, dtype));
      assertMatrix(source, "big_endian", DType.DOUBLE);
      assertMatrix(source, "fortran", DType.FLOAT);
      try (Tensor t = source.read("step")) {
        assertEquals(Shape.scalar(), t.shape());
        assertEquals(42, t.longValue());
      }
      for (String name : List.of("bytes", "text")) {
        try (Tensor t = source.read(name)) {
          assertEquals(List.of("a", "", "longer"), List.of(t.toStrings()), name);
        }
      }
      assertEquals(Shape.of(0, 3), source.shape("empty"));
    }
  }

  @Test
  void safetensorsAreRead() {
    try (TensorSource source = ArrayFiles.open(Golden.path("arrays.safetensors"))) {
      Map<String, DType> types =
          Map.of("f2", DType.HALF, "f4", DType.FLOAT, "f8", DType.DOUBLE, "i8", DType.INT64);
      types.forEach((code, dtype) -> assertMatrix(source, "layer/" + code, dtype));
      assertEquals(types.size() + 2, source.names().size(), source.names().toString());
      try (Tensor t = source.read("step")) {
        assertEquals(42, t.longValue());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {".npz", ".safetensors"})
  void checkpointsGoThereAndBack(String ending) {
    Path before = dir.resolve("before");
    Random random = new Random(3);
    try (BundleWriter writer = new BundleWriter(before)) {
      for (DType dtype :
          List.of(DType.FLOAT, DType.HALF, DType.INT64, DType.UINT8, DType.COMPLEX64)) {
        for (Shape shape : List.of(Shape.scalar(), Shape.of(0), Shape.of(3), Shape.of(70, 1001))) {
          try (Tensor t = Contents.random(random, dtype, shape)) {
            writer.add("layer/" + dtype + shape, t);
          }
        }
      }
      try (Tensor t = Tensor.scalar("what TensorFlow adds")) {
        writer.add("_CHECKPOINTABLE_OBJECT_GRAPH", t);
      }
      writer.finish();
    }
    Path file = dir.resolve("weights" + ending);
    List<String> names = ArrayFiles.fromCheckpoint(before, file, n -> true);
    assertEquals(20, names.size());
    Path after = dir.resolve("after").resolve("model.ckpt-0");
    assertEquals(names, ArrayFiles.toCheckpoint(file, after));
    Map<String, List<String>> expected = new TreeMap<>(Contents.of(before));
    expected.remove("_CHECKPOINTABLE_OBJECT_GRAPH");
    assertEquals(expected, Contents.of(after));
    assertEquals(
        List.of("layer/float[3]"),
        ArrayFiles.fromCheckpoint(before, file, n -> n.equals("layer/float[3]")));
    assertTrue(
        assertThrows(
                MillraceException.class,
                () -> ArrayFiles.fromCheckpoint(before, file, n -> n.equals("x")))
            .getMessage()
            .contains("No tensor of checkpoint"));
  }

  @Test
  void stringsAndBfloat16AreWrittenWhereTheyFit() {
    Map<String, Tensor> strings = new LinkedHashMap<>();
    strings.put("s \"quoted\"", Tensor.of(Shape.of(2, 2), "a", "", "äöü", "longest of them"));
    Path npz = dir.resolve("s.npz");
    ArrayFiles.write(npz, strings);
    try (TensorSource source = ArrayFiles.open(npz);
        Tensor t = source.read("s \"quoted\"")) {
      assertEquals(Contents.of(strings.get("s \"quoted\"")), Contents.of(t));
    }
    refused("is string, which a safetensors file cannot hold", "s.safetensors", strings);
    Map<String, Tensor> half = Map.of("b", Tensor.allocate(DType.BFLOAT16, Shape.of(3)));
    refused("is bfloat16, which NumPy does not have", "b.npz", half);
    ArrayFiles.write(dir.resolve("b.safetensors"), half);
    refused("ends in a zero byte", "z.npz", Map.of("z", Tensor.vector("a\0")));
    refused("its format is not known", "x.txt", half);
    assertFalse(Files.exists(dir.resolve("b.npz")));
  }

  private void refused(String message, String file, Map<String, Tensor> tensors) {
    MillraceException e =
        assertThrows(MillraceException.class, () -> ArrayFiles.write(dir.resolve(file), tensors));
    assertTrue(e.getMessage().contains(message), e.getMessage());
  }

  /** Every byte of a small file changed, and every shorter file: read or refused, never more. */
  @ParameterizedTest
  @ValueSource(strings = {"x.npz", "x.safetensors"})
  void damageIsRefused(String name) throws IOException {
    Path file = dir.resolve(name);
    ArrayFiles.write(file, Map.of("w", Tensor.vector(1f, 2f, 3f)));
    byte[] whole = Files.readAllBytes(file);
    int refused = 0;
    for (int i = 0; i < 2 * whole.length; i++) {
      byte[] changed = i < whole.length ? whole.clone() : new byte[i - whole.length];
      if (i < whole.length) {
        changed[i] ^= 0x55;
      } else {
        System.arraycopy(whole, 0, changed, 0, changed.length);
      }
      Files.write(file, changed);
      try (TensorSource source = ArrayFiles.open(file)) {
        for (String n : source.names()) {
          source.read(n).close();
        }
      } catch (MillraceException e) {
        refused++;
        assertTrue(e.getMessage().contains(file.toString()), e.getMessage());
      }
    }
    assertTrue(refused > whole.length, refused + " of " + 2 * whole.length);
  }

  @Test
  void falseSizesOfSafetensorsAreRefused() throws IOException {
    damaged("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", "does not fill");
    damaged(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", "belongs to no tensor");
    damaged(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,8]}}",
        "does not fill");
    damaged("{\"a\":{\"dtype\":\"U8\",\"shape\":[-8],\"data_offsets\":[8,0]}}", "not JSON");
    damaged("{\"a\":[[[[[[[[[[[[]]]]]]]]]]]]}", "not JSON");
    damaged("{\"a\":3}", "only 3");
  }

  private void damaged(String header, String why) throws IOException {
    byte[] json = header.getBytes(StandardCharsets.UTF_8);
    ByteBuffer b = ByteBuffer.allocate(16 + json.length).order(ByteOrder.LITTLE_ENDIAN);
    b.putLong(json.length).put(json);
    Path file = Files.write(dir.resolve("false.safetensors"), b.array());
    MillraceException e = assertThrows(MillraceException.class, () -> ArrayFiles.open(file));
    assertEquals(Code.DATA_LOSS, e.code(), e.getMessage());
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  @Test
  void filesThatAreNotThereAreNamed() {
    MillraceException e =
        assertThrows(MillraceException.class, () -> ArrayFiles.open(dir.resolve("no.npz")));
    assertEquals(Code.NOT_FOUND, e.code());
    assertEquals(
        Code.NOT_FOUND,
        assertThrows(MillraceException.class, () -> ArrayFiles.open(dir.resolve("no.safetensors")))
            .code());
    try (BundleWriter w = new BundleWriter(dir.resolve("c"))) {
      w.finish();
    }
    try (BundleReader r = new BundleReader(dir.resolve("c"))) {
      assertEquals(List.of(), r.names());
    }
  }
}
