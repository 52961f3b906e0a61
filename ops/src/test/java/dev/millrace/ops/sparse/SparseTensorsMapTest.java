package dev.millrace.ops.sparse;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.ops.TinySession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class SparseTensorsMapTest {
  @AutoClose private final TinySession session = new TinySession();

  private Node add(Op op, Tensor indices, Tensor values, long... dims) {
    return session
        .scope()
        .node(op)
        .input(session.constant(indices))
        .input(session.constant(values))
        .input(session.constant(Tensor.vector(dims)))
        .attr("shared_name", "m")
        .add();
  }

  private Node take(DType type, long... handles) {
    Output h = session.constant(Tensor.vector(handles));
    return session
        .scope()
        .node(SparseTensorsMap.TAKE_MANY)
        .input(h)
        .attr("dtype", type)
        .attr("shared_name", "m")
        .add();
  }

  private void refused(String words, Node take) {
    MillraceException e = assertThrows(MillraceException.class, () -> session.run(take.output(0)));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().contains(words), e.getMessage());
  }

  @Test
  void whatIsAddedInOneStepIsTakenInAnother() {
    Node two =
        add(SparseTensorsMap.ADD, Tensor.of(Shape.of(2, 1), 0L, 3L), Tensor.vector(1.5f, 2.5f), 4);
    Node one = add(SparseTensorsMap.ADD, Tensor.of(Shape.of(1, 1), 5L), Tensor.vector(7f), 6);
    assertEquals(0, session.fetch(two.output()).longValue());
    assertEquals(1, session.fetch(one.output()).longValue());
    Node take = take(DType.FLOAT, 1, 0);
    Tensor[] t = session.run(take.output(0), take.output(1), take.output(2));
    assertArrayEquals(new long[] {0, 5, 1, 0, 1, 3}, t[0].toLongs());
    assertArrayEquals(new float[] {7, 1.5f, 2.5f}, t[1].toFloats());
    assertArrayEquals(new long[] {2, 6}, t[2].toLongs());
    refused("Unable to find SparseTensor: 1", take);
  }

  @Test
  void rowsAreAddedOneByOneAndEmptyOnesToo() {
    Node rows =
        add(
            SparseTensorsMap.ADD_MANY,
            Tensor.of(Shape.of(3, 2), 0L, 1L, 2L, 0L, 2L, 2L),
            Tensor.vector("a", "b", "c"),
            4,
            3);
    // Those with values are numbered first.
    assertArrayEquals(new long[] {0, 2, 1, 3}, session.fetch(rows.output()).toLongs());
    Node take = take(DType.STRING, 2, 1);
    Tensor[] t = session.run(take.output(0), take.output(1), take.output(2));
    assertArrayEquals(new long[] {1, 0, 1, 2}, t[0].toLongs());
    assertArrayEquals(new String[] {"b", "c"}, t[1].toStrings());
    assertArrayEquals(new long[] {2, 3}, t[2].toLongs());
  }

  @Test
  void ranksAndTypesMustAgree() {
    Node flat = add(SparseTensorsMap.ADD, Tensor.of(Shape.of(1, 1), 0L), Tensor.vector(1f), 2);
    Node deep =
        add(SparseTensorsMap.ADD, Tensor.of(Shape.of(1, 2), 0L, 0L), Tensor.vector(1f), 2, 2);
    session.run(flat, deep);
    session.run(flat);
    refused("rank prior to SparseTensor[1] was: 2 but rank of", take(DType.FLOAT, 0, 1));
    refused("Requested SparseTensor of type int32", take(DType.INT32, 2));
  }

  @Test
  void aMapThatIsRemovedBeginsAnew() {
    Node flat = add(SparseTensorsMap.ADD, Tensor.of(Shape.of(1, 1), 0L), Tensor.vector(1f), 2);
    session.run(flat);
    session.run(flat);
    session.resources().closeAll();
    refused("Unable to find SparseTensor: 1", take(DType.FLOAT, 1));
    assertEquals(0, session.fetch(flat.output()).longValue());
  }
}
