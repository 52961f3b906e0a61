package dev.millrace.storage.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checkpoints of version 1; those of TensorFlow itself are read by the interop tests. */
class SliceTableTest {
  @TempDir Path folder;

  private static ShapeAndSlice part(String text) {
    return ShapeAndSlice.parse(text).orElseThrow();
  }

  private Path write(String name, String tensor, String slice, Tensor value) {
    Path file = folder.resolve(name);
    SliceTableWriter writer = new SliceTableWriter(file);
    writer.add(tensor, part(slice), value);
    writer.finish();
    return file;
  }

  @Test
  void whatIsSavedIsRestored() {
    Path file = folder.resolve("deeper/model");
    SliceTableWriter writer = new SliceTableWriter(file);
    writer.add("f", Tensor.vector(1f, -0.0f, Float.NaN));
    writer.add("s", Tensor.vector("", "x"));
    writer.add("empty", Tensor.of(Shape.of(0, 3), new float[0]));
    writer.add("scalar", Tensor.scalar(7L));
    writer.finish();
    SliceTableReader reader = new SliceTableReader(List.of(file));
    assertEquals(List.of("empty", "f", "s", "scalar"), reader.names());
    assertArrayEquals(new float[] {1f, -0.0f, Float.NaN}, reader.read("f").toFloats());
    assertArrayEquals(new String[] {"", "x"}, reader.read("s").toStrings());
    assertEquals(Shape.of(0, 3), reader.read("empty").shape());
    assertEquals(7, reader.read("scalar").longAt(0));
    assertEquals(DType.INT64, reader.dtype("scalar"));
  }

  @Test
  void partsInSeveralFilesMakeAWhole() {
    Path top = write("a", "w", "4 2 0,2:-", Tensor.of(Shape.of(2, 2), 1f, 2f, 3f, 4f));
    Path bottom = write("b", "w", "4 2 2,2:-", Tensor.of(Shape.of(2, 2), 5f, 6f, 7f, 8f));
    SliceTableReader both = new SliceTableReader(List.of(top, bottom));
    assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6, 7, 8}, both.read("w").toFloats());
    assertArrayEquals(new float[] {4, 6}, both.read("w", part("4 2 1,2:1,1")).toFloats());
    MillraceException e =
        assertThrows(MillraceException.class, () -> new SliceTableReader(List.of(top)).read("w"));
    assertEquals(Code.NOT_FOUND, e.code());
    assertTrue(e.getMessage().contains("4 of the 8 elements"), e::getMessage);
  }

  @Test
  void mistakesAreNamed() {
    Path file = write("a", "w", "4 2 0,2:-", Tensor.of(Shape.of(2, 2), 1f, 2f, 3f, 4f));
    SliceTableReader reader = new SliceTableReader(List.of(file));
    MillraceException missing = assertThrows(MillraceException.class, () -> reader.read("v"));
    assertEquals(Code.NOT_FOUND, missing.code());
    assertTrue(missing.getMessage().contains("\"v\""), missing::getMessage);
    MillraceException shape =
        assertThrows(MillraceException.class, () -> reader.read("w", part("5 2 0,2:-")));
    assertTrue(shape.getMessage().contains("[4,2]"), shape::getMessage);
    SliceTableWriter writer = new SliceTableWriter(folder.resolve("b"));
    writer.add("w", Tensor.scalar(1f));
    assertEquals(
        Code.ALREADY_EXISTS,
        assertThrows(MillraceException.class, () -> writer.add("w", Tensor.scalar(2f))).code());
    assertThrows(MillraceException.class, () -> writer.add("w", Tensor.scalar(2)));
  }

  /** A damaged file gives DATA_LOSS, whatever is damaged in it: never a wrong value or a crash. */
  @Test
  void damageIsFound() throws IOException {
    Path file = write("a", "w", "4 2 0,2:-", Tensor.of(Shape.of(2, 2), 1f, 2f, 3f, 4f));
    byte[] whole = Files.readAllBytes(file);
    Random random = new Random(5);
    for (int i = 0; i < 500; i++) {
      byte[] damaged = whole.clone();
      damaged[random.nextInt(whole.length)] ^= (byte) (1 << random.nextInt(8));
      if (random.nextInt(4) == 0) {
        damaged = java.util.Arrays.copyOf(damaged, random.nextInt(whole.length));
      }
      Files.write(file, damaged);
      try {
        float[] read = new SliceTableReader(List.of(file)).read("w", part("4 2 0,2:-")).toFloats();
        assertArrayEquals(new float[] {1, 2, 3, 4}, read);
      } catch (MillraceException e) {
        assertEquals(Code.DATA_LOSS, e.code(), e::getMessage);
      }
    }
  }
}
