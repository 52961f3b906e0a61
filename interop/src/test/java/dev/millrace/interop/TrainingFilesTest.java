package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.checkpoint.SavedModel;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.PartitionedVariable;
import dev.millrace.train.variable.VariablePartitioner;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checkpoints, partitioned ones too, and SavedModels are read on both sides. */
@NeedsPython
class TrainingFilesTest {
  @TempDir Path folder;

  /** A partitioned variable of {@code parts} parts, a scalar and the step. */
  private static final class Model {
    final Scope scope = Scope.of(new Graph(StandardOps.registry()));
    final PartitionedVariable p;
    final GraphVariable w;
    final Output x;
    final Output y;

    Model(int parts) {
      VariableScope v = VariableScope.of(scope);
      GlobalStep.of(scope);
      p =
          v.partitioned(
              "p",
              DType.FLOAT,
              Shape.of(7, 2),
              Initializers.constant(.5),
              VariablePartitioner.fixedSize(parts, 0));
      w = v.variable("w", Shape.scalar(), Initializers.constant(1.25));
      x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.of(-1));
      Output all = Reduction.sumAll(scope, p.read(scope));
      y = Arithmetic.add(scope.withName("y"), Arithmetic.mul(scope, x, w.read()), all);
    }
  }

  // README claim: tf-files
  @Test
  void bothSidesReadWhatTheOtherWrote() {
    Model m = new Model(3);
    Saver saver = Saver.of(m.scope);
    try (Session s = new LocalSession(m.scope.graph())) {
      s.run(Variables.initializer(m.scope));
      saver.save(s, folder.resolve("ours").resolve("model.ckpt"), 3L);
      SavedModel.export(
          s,
          m.scope.graph(),
          folder.resolve("model"),
          new SavedModel.Signature(Map.of("x", m.x), Map.of("y", m.y)));
    }
    Map<String, String> found = new HashMap<>();
    for (String line :
        PythonTensorFlow.find()
            .run("training_files.py", List.of(folder.toString()), Duration.ofMinutes(5))
            .split("\n")) {
      int end = line.indexOf(' ', line.startsWith("shape ") ? 6 : 0);
      found.put(end < 0 ? line : line.substring(0, end), end < 0 ? "" : line.substring(end + 1));
    }
    assertEquals("model.ckpt-3", found.get("latest"));
    assertEquals("7 2", found.get("shape p"));
    assertEquals("0.5 ".repeat(14).strip(), found.get("p"));
    assertEquals("1.25", found.get("w"));
    assertEquals("8.25 9.5", found.get("served"));
    assertEquals("8.25 9.5", found.get("loaded"));
    assertEquals("1.25", found.get("imported"));
    for (int parts : new int[] {1, 2, 5}) {
      Model other = new Model(parts);
      Output whole = other.p.read(other.scope);
      try (Session s = new LocalSession(other.scope.graph())) {
        assertTrue(Saver.of(other.scope).restoreLatest(s, folder.resolve("theirs")).isPresent());
        float[] values = s.fetch(whole).toFloats();
        for (int i = 0; i < 14; i++) {
          assertEquals(i, values[i], parts + " parts");
        }
        assertEquals(42, s.fetch(other.w.read()).floatValue());
      }
    }
  }
}
