package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.interop.conformance.Engine;
import dev.millrace.interop.conformance.MillraceEngine;
import dev.millrace.interop.conformance.TensorFlowEngine;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** TensorFlow reads the checkpoints of version 1 that Millrace writes, and the reverse. */
class SliceTableTest {
  private static final List<DType> TYPES =
      List.of(
          DType.FLOAT,
          DType.DOUBLE,
          DType.HALF,
          DType.INT8,
          DType.INT16,
          DType.INT32,
          DType.INT64,
          DType.UINT8,
          DType.UINT16,
          DType.BOOL,
          DType.COMPLEX64,
          DType.COMPLEX128,
          DType.STRING);

  @TempDir Path folder;

  private static Tensor value(DType type) {
    if (type == DType.STRING) {
      return Tensor.vector("", "a", "\0b", "longer than the short form", "\u00e4", "f");
    }
    Tensor t = Tensor.allocate(type, Shape.of(2, 3));
    for (int i = 0; i < 6; i++) {
      if (type == DType.COMPLEX64 || type == DType.COMPLEX128) {
        t.data().asSlice((long) i * type.bytes(), type.bytes()).fill((byte) (i + 1));
      } else {
        t.setDouble(i, type == DType.BOOL ? i % 2 : i * 5 + 1);
      }
    }
    return t;
  }

  @Test
  void eachReadsWhatTheOtherWrites() {
    GraphWriter g = new GraphWriter();
    String file = folder.resolve("model").toString();
    g.constant("file", Tensor.scalar(file));
    List<String> names = new ArrayList<>();
    List<String> inputs = new ArrayList<>(List.of("file", "names"));
    for (DType type : TYPES) {
      String name = "v_" + type.name();
      names.add(name);
      inputs.add(g.constant(name, value(type)));
      g.constant("name_" + name, Tensor.scalar(name));
      g.add("restore_" + name, "Restore", Map.of("dt", type), "file", "name_" + name);
    }
    // Enough for several blocks of the table.
    Tensor large = Tensor.allocate(DType.FLOAT, Shape.of(300_000));
    for (int i = 0; i < 300_000; i++) {
      large.setDouble(i, i * 0.5);
    }
    names.add("large");
    inputs.add(g.constant("large", large));
    g.constant("name_large", Tensor.scalar("large"));
    g.add("restore_large", "Restore", Map.of("dt", DType.FLOAT), "file", "name_large");
    g.constant("names", Tensor.vector(names.toArray(String[]::new)));
    g.add("save", "Save", Map.of(), inputs.toArray(String[]::new));
    exchange(g, names, new MillraceEngine(), new TensorFlowEngine());
    exchange(g, names, new TensorFlowEngine(), new MillraceEngine());
  }

  private static void exchange(GraphWriter g, List<String> names, Engine writer, Engine reader) {
    try (Engine.Loaded from = writer.load(g.build());
        Engine.Loaded to = reader.load(g.build())) {
      from.run(Map.of(), List.of(), List.of("save"));
      for (String name : names) {
        Tensor expected = from.run(Map.of(), List.of(name + ":0"), List.of()).getFirst();
        Tensor actual = to.run(Map.of(), List.of("restore_" + name + ":0"), List.of()).getFirst();
        assertEquals(expected.shape(), actual.shape(), name);
        if (expected.dtype() == DType.STRING) {
          assertEquals(List.of(expected.toStrings()), List.of(actual.toStrings()), name);
        } else {
          assertEquals(-1, expected.data().mismatch(actual.data()), name);
        }
      }
    }
  }
}
