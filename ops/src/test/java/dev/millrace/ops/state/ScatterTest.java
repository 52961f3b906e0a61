package dev.millrace.ops.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ScatterTest {
  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  private Output variable(boolean resource, DType type, Shape shape, double... values) {
    Tensor t = Tensor.allocate(type, shape);
    for (int i = 0; i < values.length; i++) {
      t.setDouble(i, values[i]);
    }
    Output value = session.constant(t);
    Output v = resource ? VarHandle.of(scope, type, shape) : VariableV2.of(scope, type, shape);
    session.run(resource ? AssignVariable.of(scope, v, value) : Assign.of(scope, v, value));
    return v;
  }

  private double[] read(Output v, DType type) {
    return session.fetch(v.isRef() ? v : ReadVariable.of(scope, v, type)).toDoubles();
  }

  private Output floats(Shape shape, float... v) {
    return session.constant(Tensor.of(shape, v));
  }

  // Rows 2, 0 and 2 again of [[1,2],[3,4],[5,6]] with [[2,4],[8,8],[-2,2]].
  @ParameterizedTest
  @CsvSource({
    "Update, 8 8 3 4 -2 2",
    "Add, 9 10 3 4 5 12",
    "Sub, -7 -6 3 4 5 0",
    "Mul, 8 16 3 4 -20 48",
    "Div, 0.125 0.25 3 4 -1.25 0.75",
    "Min, 1 2 3 4 -2 2",
    "Max, 8 8 3 4 5 6"
  })
  void rowsChangeInOrder(String change, String expected) {
    double[] wanted =
        java.util.Arrays.stream(expected.split(" ")).mapToDouble(Double::parseDouble).toArray();
    for (DType type : new DType[] {DType.FLOAT, DType.DOUBLE, DType.HALF}) {
      for (boolean resource : new boolean[] {false, true}) {
        Output v = variable(resource, type, Shape.of(3, 2), 1, 2, 3, 4, 5, 6);
        Tensor updates = Tensor.allocate(type, Shape.of(3, 2));
        float[] by = {2, 4, 8, 8, -2, 2};
        for (int i = 0; i < by.length; i++) {
          updates.setDouble(i, by[i]);
        }
        Node n =
            scope
                .node((resource ? "ResourceScatter" : "Scatter") + change)
                .input(v)
                .input(session.constant(Tensor.vector(2, 0, 2)))
                .input(session.constant(updates))
                .add();
        session.run(n);
        assertArrayEquals(wanted, read(v, type), 1e-6, change + " " + type + " " + resource);
      }
    }
  }

  @Test
  void unsignedLongsAreNotNegative() {
    Output v = variable(true, DType.UINT64, Shape.of(2), 7, 7);
    Tensor updates = Tensor.vector(-1L, 3L).bitcast(DType.UINT64);
    session.run(
        scope
            .node("ResourceScatterMin")
            .input(v)
            .input(session.constant(Tensor.vector(0, 1)))
            .input(session.constant(updates))
            .add());
    assertArrayEquals(new double[] {7, 3}, read(v, DType.UINT64));
  }

  @Test
  void aScalarChangesWholeRows() {
    Output v = variable(false, DType.FLOAT, Shape.of(2, 2), 1, 2, 3, 4);
    Output at = session.constant(Tensor.vector(1L));
    Output out = Scatter.add(scope, v, at, session.constant(Tensor.scalar(10f))).output();
    assertEquals(Shape.of(2, 2), out.shape());
    assertArrayEquals(new float[] {1, 2, 13, 14}, session.fetch(out).toFloats());
  }

  @Test
  void indicesOfAnyRankNameRows() {
    Output v = variable(true, DType.FLOAT, Shape.of(3), 1, 2, 3);
    Output at = session.constant(Tensor.of(Shape.of(1, 2), 2, 1));
    session.run(Scatter.sub(scope, v, at, floats(Shape.of(1, 2), 1, 1)));
    assertArrayEquals(new double[] {1, 1, 2}, read(v, DType.FLOAT));
  }

  @Test
  void aWrongIndexChangesNothing() {
    Output v = variable(false, DType.FLOAT, Shape.of(2), 1, 2);
    for (int bad : new int[] {-1, 2, Integer.MAX_VALUE}) {
      Node n =
          Scatter.update(
              scope, v, session.constant(Tensor.vector(0, bad)), floats(Shape.of(2), 7, 7));
      MillraceException e = assertThrows(MillraceException.class, () -> session.run(n));
      assertEquals(Code.INVALID_ARGUMENT, e.code());
      assertTrue(e.getMessage().contains("indices[1] = " + bad), e.getMessage());
    }
    assertArrayEquals(new double[] {1, 2}, read(v, DType.FLOAT));
  }

  @Test
  void updatesMustFitTheRows() {
    Output v = variable(false, DType.FLOAT, Shape.of(2, 2), 1, 2, 3, 4);
    Output at = session.constant(Tensor.vector(1));
    assertThrows(
        MillraceException.class, () -> Scatter.add(scope, v, at, floats(Shape.of(1, 3), 1, 2, 3)));
  }

  @Test
  void noRowsIsNoChange() {
    Output v = variable(false, DType.FLOAT, Shape.of(0, 2));
    Output at = session.constant(Tensor.vector(new int[0]));
    session.run(Scatter.add(scope, v, at, floats(Shape.of(0, 2))));
  }

  @Test
  void stringsCanBeReplaced() {
    Output v = VariableV2.of(scope, DType.STRING, Shape.of(2));
    session.run(Assign.of(scope, v, session.constant(Tensor.vector("a", "b"))));
    Output at = session.constant(Tensor.vector(1));
    Node n = Scatter.update(scope, v, at, session.constant(Tensor.vector("c")));
    assertArrayEquals(new String[] {"a", "c"}, session.fetch(n.output()).toStrings());
  }
}
