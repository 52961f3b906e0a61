package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.storage.array.ArrayFiles;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** NumPy and safetensors read what Millrace writes. */
@NeedsPython
class ArrayFilesInPythonTest {
  @TempDir Path folder;

  @Test
  void otherLibrariesReadTheFiles() {
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    tensors.put("layer/kernel", Tensor.of(Shape.of(2, 3), 1f, 2f, 3f, 4f, 5f, 6.5f));
    tensors.put("layer/ids", Tensor.vector(1L << 40, 2L));
    tensors.put("step", Tensor.scalar(7));
    tensors.put("flags", Tensor.of(Shape.of(3), true, false, true));
    tensors.put("empty", Tensor.allocate(DType.DOUBLE, Shape.of(0, 4)));
    Path file = folder.resolve("weights");
    ArrayFiles.write(folder.resolve("weights.safetensors"), tensors);
    tensors.put("words", Tensor.vector("a", "", "longer"));
    ArrayFiles.write(folder.resolve("weights.npz"), tensors);
    String said =
        PythonTensorFlow.find()
            .run("array_files.py", List.of(file.toString()), Duration.ofMinutes(2));
    List<String> expected = new ArrayList<>();
    for (String kind : List.of("npz", "safetensors")) {
      expected.add(kind + " empty f [0, 4] 0.0");
      expected.add(kind + " flags b [3] 2.0");
      expected.add(kind + " layer/ids i [2] " + ((1L << 40) + 2) + ".0");
      expected.add(kind + " layer/kernel f [2, 3] 21.5");
      expected.add(kind + " step i [] 7.0");
      if (kind.equals("npz")) {
        expected.add(kind + " words S [3] a||longer");
      }
    }
    List<String> found = new ArrayList<>(said.strip().lines().toList());
    if (found.remove("absent safetensors")) {
      expected.removeIf(l -> l.startsWith("safetensors"));
    }
    assertEquals(expected, found);
  }
}
