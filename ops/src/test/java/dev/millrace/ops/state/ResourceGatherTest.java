package dev.millrace.ops.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.graph.resource.Variable;
import dev.millrace.ops.TinySession;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class ResourceGatherTest {
  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  private Output table(Shape declared, Shape shape, float... values) {
    Output v = VarHandle.of(scope.withName("table"), DType.FLOAT, declared);
    session.run(AssignVariable.of(scope, v, session.constant(Tensor.of(shape, values))));
    return v;
  }

  private Output ints(Shape shape, int... v) {
    return session.constant(Tensor.of(shape, v));
  }

  @Test
  void rowsComeInTheOrderOfTheIndices() {
    Output v = table(Shape.of(3, 2), Shape.of(3, 2), 1, 2, 3, 4, 5, 6);
    Output y = ResourceGather.of(scope, v, ints(Shape.of(2, 1), 2, 0), DType.FLOAT);
    assertEquals(Shape.of(2, 1, 2), y.shape());
    Tensor t = session.fetch(y);
    assertEquals(Shape.of(2, 1, 2), t.shape());
    assertArrayEquals(new float[] {5, 6, 1, 2}, t.toFloats());
  }

  @Test
  void batchesGatherEachFromTheirOwn() {
    Output v = table(Shape.of(2, 3), Shape.of(2, 3), 1, 2, 3, 4, 5, 6);
    Output y =
        scope
            .node(ResourceGather.OP)
            .input(v)
            .input(ints(Shape.of(2, 2), 2, 0, 1, 1))
            .attr("dtype", DType.FLOAT)
            .attr("batch_dims", 1)
            .add()
            .output();
    assertEquals(Shape.of(2, 2), y.shape());
    assertArrayEquals(new float[] {3, 1, 5, 5}, session.fetch(y).toFloats());
  }

  @Test
  void anIndexOutsideIsRefused() {
    Output v = table(Shape.of(3), Shape.of(3), 1, 2, 3);
    for (int bad : new int[] {-1, 3}) {
      Output y = ResourceGather.of(scope, v, ints(Shape.of(1), bad), DType.FLOAT);
      MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(y));
      assertEquals(Code.INVALID_ARGUMENT, e.code());
    }
  }

  @Test
  void theGradientCoversTheGatheredRowsOnly() {
    for (Shape declared : List.of(Shape.of(3, 2), Shape.unknown())) {
      Output v = table(declared, Shape.of(3, 2), 1, 2, 3, 4, 5, 6);
      Output y = ResourceGather.of(scope, v, ints(Shape.of(2, 1), 2, 2), DType.FLOAT);
      Output z = Arithmetic.mul(scope, y, y);
      Grad g = Gradients.of(scope, List.of(z), List.of(v)).getFirst();
      Grad.Rows rows = assertInstanceOf(Grad.Rows.class, g);
      assertArrayEquals(new int[] {2, 2}, session.fetch(rows.indices()).toInts());
      assertArrayEquals(new float[] {10, 12, 10, 12}, session.fetch(rows.values()).toFloats());
      assertArrayEquals(new int[] {3, 2}, session.fetch(rows.denseShape()).toInts());
      Output dense = Gradients.dense(scope, g);
      assertArrayEquals(new float[] {0, 0, 0, 0, 20, 24}, session.fetch(dense).toFloats());
    }
  }

  @Test
  void aTableIsNotCopiedForAChangeOfRows() {
    Output v = table(Shape.of(3, 2), Shape.of(3, 2), 1, 2, 3, 4, 5, 6);
    Output at = ints(Shape.of(1), 1);
    Output one = session.constant(Tensor.scalar(1f));
    session.run(Scatter.add(scope, v, at, one));
    Variable table = session.resources().get("", v.node().name(), Variable.class);
    Buffer[] memory = new Buffer[1];
    table.examine(t -> memory[0] = Refs.buffer(t));

    // A reader gets a value of its own, so the next change need not copy the table.
    Tensor before = session.fetch(ReadVariable.of(scope, v, DType.FLOAT));
    Tensor held = table.read();
    session.run(Scatter.add(scope, v, at, one));
    table.examine(t -> assertSame(memory[0], Refs.buffer(t)));
    assertFalse(Refs.buffer(held) == memory[0]);
    assertArrayEquals(new float[] {1, 2, 4, 5, 5, 6}, held.toFloats());
    assertArrayEquals(before.toFloats(), held.toFloats());
    Refs.release(held);
    Output after = ReadVariable.of(scope, v, DType.FLOAT);
    assertArrayEquals(new float[] {1, 2, 5, 6, 5, 6}, session.fetch(after).toFloats());
  }

  @Test
  void theShapeCanBeHadWithoutTheValue() {
    Output v = table(Shape.unknown(), Shape.of(3, 2), 1, 2, 3, 4, 5, 6);
    assertArrayEquals(new int[] {3, 2}, session.fetch(VariableShape.of(scope, v)).toInts());
  }
}
