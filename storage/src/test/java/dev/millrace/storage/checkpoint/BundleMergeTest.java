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
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BundleMergeTest {
  @TempDir Path dir;

  private Path save(String prefix, Object... namesAndTensors) {
    Path path = dir.resolve(prefix);
    try (BundleWriter writer = new BundleWriter(path)) {
      for (int i = 0; i < namesAndTensors.length; i += 2) {
        String[] name = ((String) namesAndTensors[i]).split("@");
        Tensor tensor = (Tensor) namesAndTensors[i + 1];
        if (name.length == 1) {
          writer.add(name[0], tensor);
        } else {
          writer.add(name[0], ShapeAndSlice.parse(name[1]).orElseThrow(), tensor);
        }
      }
      writer.finish();
    }
    return path;
  }

  @Test
  void theMergedBundleHasAllTensorsAndTheSourcesAreGone() throws IOException {
    Path a = save("m_temp/part-0", "x", Tensor.scalar(1f), "p@5 0,2", Tensor.vector(0, 1));
    Path b = save("m_temp/part-1", "y", Tensor.scalar("s"), "p@5 2,3", Tensor.vector(2, 3, 4));
    Path c = save("m_temp/part-2");
    BundleMerge.merge(List.of(a, b, c), dir.resolve("out/m"), true, false);
    try (BundleReader reader = new BundleReader(dir.resolve("out/m"))) {
      assertEquals(List.of("p", "x", "y"), reader.names());
      assertArrayEquals(new int[] {0, 1, 2, 3, 4}, reader.read("p").toInts());
      assertEquals("s", reader.read("y").stringValue());
    }
    assertFalse(Files.exists(dir.resolve("m_temp")));
    try (var files = Files.list(dir.resolve("out"))) {
      assertEquals(
          List.of(
              "m.data-00000-of-00003", "m.data-00001-of-00003", "m.data-00002-of-00003", "m.index"),
          files.map(f -> f.getFileName().toString()).sorted().toList());
    }
  }

  @Test
  void replacingLeavesTheOldOneWholeUntilTheNewOneIs() throws IOException {
    Path p = save("p", "x", Tensor.scalar(1));
    // Cut off after the new data file had its name, before the index had.
    Files.writeString(dir.resolve("p.data-00000-of-00002"), "half");
    assertEquals(1, Contents.of(p).size());
    for (int i = 2; i < 5; i++) {
      save("p", "x", Tensor.scalar(i));
      try (BundleReader reader = new BundleReader(p)) {
        assertEquals(i, reader.read("x").intValue());
      }
      try (var files = Files.list(dir)) {
        assertEquals(2, files.count(), "an index and one data file");
      }
    }
    save("q", "y", Tensor.scalar(9));
    BundleMerge.merge(List.of(p, dir.resolve("q")), p, false, false);
    try (BundleReader reader = new BundleReader(p)) {
      assertEquals(4, reader.read("x").intValue());
      assertEquals(9, reader.read("y").intValue());
    }
  }

  @Test
  void mergedBundlesCanBeMergedAgain() {
    Path a = save("a", "x", Tensor.scalar(1));
    Path b = save("b", "y", Tensor.scalar(2));
    Path c = save("c", "z", Tensor.scalar(3));
    BundleMerge.merge(List.of(a, b), dir.resolve("ab"), false, false);
    BundleMerge.merge(List.of(c, dir.resolve("ab")), dir.resolve("abc"), false, false);
    try (BundleReader reader = new BundleReader(dir.resolve("abc"))) {
      assertEquals(1, reader.read("x").intValue());
      assertEquals(2, reader.read("y").intValue());
      assertEquals(3, reader.read("z").intValue());
    }
  }

  @Test
  void theSameTensorTwiceIsRefusedAndNothingMoves() {
    Path a = save("a", "x", Tensor.scalar(1));
    Path b = save("b", "x", Tensor.scalar(2));
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> BundleMerge.merge(List.of(a, b), dir.resolve("m"), true, false));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().contains("'x'"), e.getMessage());
    assertEquals(1, Contents.of(a).size());
    assertEquals(1, Contents.of(b).size());
    assertFalse(Files.exists(dir.resolve("m.index")));
  }

  @Test
  void aMissingSourceIsAnErrorUnlessAllowed() {
    Path a = save("a", "x", Tensor.scalar(1));
    Path none = dir.resolve("none");
    Path target = dir.resolve("m");
    assertEquals(
        Code.NOT_FOUND,
        assertThrows(
                MillraceException.class,
                () -> BundleMerge.merge(List.of(a, none), target, true, false))
            .code());
    assertEquals(
        Code.NOT_FOUND,
        assertThrows(
                MillraceException.class, () -> BundleMerge.merge(List.of(none), target, true, true))
            .code());
    BundleMerge.merge(List.of(a, none), target, true, true);
    assertEquals(List.of("x"), List.copyOf(Contents.of(target).keySet()));
  }

  @Test
  void directoriesWithOtherFilesStay() throws IOException {
    Path a = save("temp/a", "x", Tensor.scalar(1));
    Files.writeString(dir.resolve("temp/other"), "");
    BundleMerge.merge(List.of(a), dir.resolve("m"), true, false);
    assertTrue(Files.exists(dir.resolve("temp/other")));
  }

  @Test
  void mergesWhatTensorFlowMergedIntoTheSameIndex() throws IOException {
    // The two halves TensorFlow was given, saved again and merged here.
    try (BundleReader reader = new BundleReader(Golden.path("parts"))) {
      for (int i = 0; i < 2; i++) {
        try (BundleWriter writer = new BundleWriter(dir.resolve("half" + i))) {
          for (String name : List.of("p", "b" + i, "s")) {
            if (reader.slices(name).isEmpty()) {
              writer.add(name, reader.read(name));
            } else {
              ShapeAndSlice part =
                  new ShapeAndSlice(reader.shape(name), reader.slices(name).get(i));
              writer.add(name, part, reader.read(name, part));
            }
          }
          writer.finish();
        }
      }
    }
    BundleMerge.merge(
        List.of(dir.resolve("half0"), dir.resolve("half1")), dir.resolve("parts"), true, false);
    for (String file :
        List.of("parts.index", "parts.data-00000-of-00002", "parts.data-00001-of-00002")) {
      assertArrayEquals(
          Files.readAllBytes(Golden.path(file)), Files.readAllBytes(dir.resolve(file)), file);
    }
  }
}
