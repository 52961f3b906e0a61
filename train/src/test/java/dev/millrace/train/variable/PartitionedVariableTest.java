package dev.millrace.train.variable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.math.Unary;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.storage.checkpoint.TensorSlice;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.Towers;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.optimizer.Adam;
import dev.millrace.train.optimizer.GradientDescent;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PartitionedVariableTest {
  @TempDir Path folder;

  private final Scope scope = Scope.of(new Graph(StandardOps.registry()));

  private PartitionedVariable table(int rows, int parts) {
    return table(VariableScope.of(scope), rows, parts);
  }

  private static PartitionedVariable table(VariableScope in, int rows, int parts) {
    return in.partitioned(
        "t",
        DType.FLOAT,
        Shape.of(rows, 2),
        Initializers.ones(),
        VariablePartitioner.fixedSize(parts, 0));
  }

  @Test
  void partitionersCutAsTensorFlowsDo() {
    Shape shape = Shape.of(10, 4);
    assertArrayEquals(
        new int[] {3, 1}, VariablePartitioner.fixedSize(3, 0).partition(shape, DType.FLOAT));
    // 16 bytes a row, at most 3 rows in 50 bytes.
    assertArrayEquals(
        new int[] {4, 1}, VariablePartitioner.byAxisSize(50, 0).partition(shape, DType.FLOAT));
    assertArrayEquals(
        new int[] {1, 2}, VariablePartitioner.minMax(8, 1, 80).partition(shape, DType.FLOAT));
    // 160 bytes in parts of 100: rounded up.
    assertArrayEquals(
        new int[] {2, 1}, VariablePartitioner.minMax(8, 0, 100).partition(shape, DType.FLOAT));
    assertEquals(
        List.of(4L, 3L, 3L), table(10, 3).parts().stream().map(p -> p.shape().dim(0)).toList());
    assertThrows(
        MillraceException.class,
        () -> VariablePartitioner.fixedSize(2, 2).partition(shape, DType.FLOAT));
  }

  @Test
  void partsStartWithTheirShareOfTheWhole() {
    Tensor value = Tensor.of(Shape.of(2, 5), 0f, 1f, 2f, 3f, 4f, 5f, 6f, 7f, 8f, 9f);
    VariableScope v = VariableScope.of(scope);
    PartitionedVariable given =
        v.partitioned(
            "given",
            DType.FLOAT,
            value.shape(),
            Initializers.value(value),
            VariablePartitioner.fixedSize(3, 1));
    PartitionedVariable scaled =
        v.partitioned(
            "scaled",
            DType.FLOAT,
            Shape.of(10_000, 2),
            Initializers.glorotUniform(),
            VariablePartitioner.fixedSize(100, 0));
    Output whole = given.read(scope);
    Output drawn = scaled.read(scope);
    try (Session s = new LocalSession(scope.graph())) {
      s.run(Variables.initializer(scope));
      assertArrayEquals(value.toFloats(), s.fetch(whole).toFloats());
      float most = 0;
      for (float x : s.fetch(drawn).toFloats()) {
        most = Math.max(most, Math.abs(x));
      }
      assertEquals(Math.sqrt(6 / 10_002.), most, 1e-4, "as wide as that of the whole");
    }
  }

  @Test
  void rowsAreFoundInWhicheverPartTheyAre() {
    for (Embedding.Spread spread : Embedding.Spread.values()) {
      Scope s = Scope.of(new Graph(StandardOps.registry()));
      PartitionedVariable t = table(VariableScope.of(s), 7, 3);
      Output ids = Const.of(s, Tensor.of(Shape.of(2, 4), 0L, 1L, 2L, 3L, 4L, 5L, 6L, 0L));
      Output rows = Embedding.lookup(s, t, ids, spread);
      Output loss = Reduction.sumAll(s, Unary.square(s, rows));
      Node train = new GradientDescent(.25f).minimize(s, loss, null);
      try (Session session = new LocalSession(s.graph())) {
        for (GraphVariable p : t.parts()) {
          float[] values = new float[(int) p.shape().elements()];
          for (int i = 0; i < values.length; i++) {
            values[i] = whole(p, i / 2, spread);
          }
          session.run(p.assign(s, Const.of(s, Tensor.of(p.shape(), values))));
        }
        float[] found = session.fetch(rows).toFloats();
        assertEquals(Shape.of(2, 4, 2), session.fetch(rows).shape());
        for (int i = 0; i < 16; i++) {
          assertEquals(i / 2 % 7, found[i], spread + " " + i);
        }
        session.run(train);
        // Each row is halved by its own gradient; row 0, looked up twice, stays 0.
        assertEquals(1.5f, session.fetch(rows).toFloats()[6], spread.name());
      }
    }
  }

  /** The number of the row of the whole that row {@code i} of a part is. */
  private static float whole(GraphVariable part, int i, Embedding.Spread spread) {
    int number = Integer.parseInt(part.name().substring(part.name().length() - 1));
    return spread == Embedding.Spread.MOD
        ? 3 * i + number
        : i + part.part().slice().slice().start(0);
  }

  @Test
  void partsAreSlicesOfOneTensorInCheckpoints() {
    PartitionedVariable t = table(5, 2);
    Saver saver = Saver.of(scope);
    try (Session s = new LocalSession(scope.graph())) {
      s.run(Variables.initializer(scope));
      saver.export(s, folder.resolve("m"));
    }
    assertEquals("t/part_1", t.parts().get(1).name());
    try (BundleReader reader = new BundleReader(folder.resolve("m"))) {
      assertEquals(List.of("t"), reader.names());
      assertEquals(Shape.of(5, 2), reader.shape("t"));
      assertEquals(
          List.of(TensorSlice.parse("0,3:0,2"), TensorSlice.parse("3,2:0,2")), reader.slices("t"));
    }
  }

  /** The sum of the squares of a table in parts, and a step of Adam on it. */
  private record Squares(Scope scope, PartitionedVariable table, Node train) {
    static Squares of(int parts) {
      Scope s = Scope.of(new Graph(StandardOps.registry()));
      PartitionedVariable t = PartitionedVariableTest.table(VariableScope.of(s), 7, parts);
      Output loss = Reduction.sumAll(s, Unary.square(s, t.read(s)));
      return new Squares(s, t, new Adam(.1f).minimize(s, loss, null));
    }
  }

  @Test
  void slotsOfPartsAreSlicesToo() {
    Squares three = Squares.of(3);
    Saver saver = Saver.of(three.scope);
    float[] expected;
    try (Session s = new LocalSession(three.scope.graph())) {
      s.run(Variables.initializer(three.scope));
      s.run(three.train);
      saver.export(s, folder.resolve("m"));
      s.run(three.train);
      expected = s.fetch(three.table.read(three.scope)).toFloats();
    }
    try (BundleReader reader = new BundleReader(folder.resolve("m"))) {
      assertEquals(
          List.of("beta1_power", "beta2_power", "t", "t/Adam", "t/Adam_1"), reader.names());
      assertEquals(3, reader.slices("t/Adam_1").size());
    }
    Squares two = Squares.of(2); // goes on in other parts
    Saver other = Saver.of(two.scope);
    try (Session s = new LocalSession(two.scope.graph())) {
      other.restore(s, folder.resolve("m"));
      s.run(two.train);
      assertArrayEquals(expected, s.fetch(two.table.read(two.scope)).toFloats());
    }
  }

  @Test
  void partsAreSharedOnlyAsTheyWereMade() {
    table(5, 2);
    VariableScope shared = VariableScope.of(scope).withReuse(Reuse.EXISTING);
    assertThrows(MillraceException.class, () -> table(shared, 7, 2));
    assertThrows(MillraceException.class, () -> table(shared.withSubScope("other"), 5, 2));
  }

  @Test
  void towersMakeOneStepWithTheirAverage() {
    GraphVariable v =
        VariableScope.of(scope).variable("v", Shape.scalar(), Initializers.constant(1));
    Node train =
        Towers.minimize(
            scope,
            List.of("/cpu:0", "/cpu:1"),
            (s, i) ->
                dev.millrace.ops.math.Arithmetic.mul(s, v.read(), Const.of(s, i == 0 ? 2f : 4f)),
            new GradientDescent(.1f),
            null);
    try (Session s = new LocalSession(scope.graph(), SessionOptions.DEFAULT.withCpuDevices(2))) {
      s.run(Variables.initializer(scope));
      s.run(train);
      assertEquals(1 - .1f * 3, s.fetch(v.read()).floatValue(), 1e-6);
    }
  }
}
