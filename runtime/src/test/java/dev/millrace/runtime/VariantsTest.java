package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tensors of lists, and lists of lists. */
class VariantsTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());

  private NodeBuilder op(String name, DType elements) {
    return scope.node(name).attr("element_dtype", elements);
  }

  private Output list(float... values) {
    return op("TensorListFromTensor", DType.FLOAT)
        .input(Const.of(scope, Tensor.vector(values)))
        .input(Const.of(scope, Tensor.of(Shape.of(0), new int[0])))
        .add()
        .output();
  }

  private Output unset(DType type, Object shape, int count) {
    Output s = shape instanceof int[] d ? Const.ints(scope, d) : Const.of(scope, -1);
    return op("TensorListReserve", type)
        .attr("shape_type", DType.INT32)
        .input(s)
        .input(Const.of(scope, count))
        .add()
        .output();
  }

  private Output stack(Output list, DType type) {
    return op("TensorListStack", type).input(list).input(Const.of(scope, -1)).add().output();
  }

  private Output both(Output a, Output b) {
    return scope.node("Pack").inputs(List.of(a, b)).attr("axis", 0).add().output();
  }

  private Output part(Output of, int i) {
    return scope
        .node("GatherV2")
        .input(of)
        .input(Const.of(scope, i))
        .input(Const.of(scope, 0))
        .add()
        .output();
  }

  private float[] fetch(Output o) {
    try (Session s = new LocalSession(scope.graph())) {
      return s.fetch(o).toFloats();
    }
  }

  @Test
  void aVariableOfListsKeepsThem() {
    Output v =
        scope
            .node("VarHandleOp")
            .attr("dtype", DType.VARIANT)
            .attr("shape", Shape.of(2))
            .attr("shared_name", "v")
            .add()
            .output();
    Node init =
        scope
            .node("AssignVariableOp")
            .input(v)
            .input(both(list(1, 2), list(3, 4, 5)))
            .attr("dtype", DType.VARIANT)
            .add();
    Output read = scope.node("ReadVariableOp").input(v).attr("dtype", DType.VARIANT).add().output();
    Output first = part(read, 0);
    Output more =
        op("TensorListPushBack", DType.FLOAT)
            .input(first)
            .input(Const.of(scope, 9f))
            .add()
            .output();
    Output gathered =
        scope
            .node("ResourceGather")
            .input(v)
            .input(Const.of(scope, 1))
            .attr("dtype", DType.VARIANT)
            .add()
            .output();
    try (Session s = new LocalSession(scope.graph())) {
      s.run(init);
      for (int i = 0; i < 3; i++) {
        assertArrayEquals(new float[] {1, 2}, s.fetch(stack(first, DType.FLOAT)).toFloats());
        assertArrayEquals(new float[] {1, 2, 9}, s.fetch(stack(more, DType.FLOAT)).toFloats());
        assertArrayEquals(new float[] {3, 4, 5}, s.fetch(stack(gathered, DType.FLOAT)).toFloats());
      }
    }
  }

  @Test
  void listsOfListsAreAddedAndCleared() {
    Output outer =
        op("TensorListPushBack", DType.VARIANT)
            .input(unset(DType.VARIANT, new int[0], 0))
            .input(list(1, 2))
            .add()
            .output();
    Output sum = scope.node("AddN").inputs(List.of(outer, outer, outer)).add().output();
    Output of = part(stack(sum, DType.VARIANT), 0);
    assertArrayEquals(new float[] {3, 6}, fetch(stack(of, DType.FLOAT)));
    Output zeros = part(stack(ZerosLike.of(scope, outer), DType.VARIANT), 0);
    assertArrayEquals(new float[] {0, 0}, fetch(stack(zeros, DType.FLOAT)));
    Output each = part(ZerosLike.of(scope, both(list(1), list(2, 3))), 1);
    assertArrayEquals(new float[] {0, 0}, fetch(stack(each, DType.FLOAT)));
  }

  @Test
  void zerosOfAnOptionalAreAnOptionalOfZeros() {
    Output some = scope.node("OptionalFromValue").input(Const.of(scope, 5f)).add().output();
    Output value =
        scope
            .node("OptionalGetValue")
            .input(ZerosLike.of(scope, some))
            .attr("output_types", List.of(DType.FLOAT))
            .attr("output_shapes", List.of(Shape.scalar()))
            .add()
            .output();
    assertEquals(0, fetch(value)[0]);
    Output none = ZerosLike.of(scope, scope.node("OptionalNone").add().output());
    Output has = scope.node("OptionalHasValue").input(none).add().output();
    try (Session s = new LocalSession(scope.graph())) {
      assertEquals(0, s.fetch(has).longValue());
    }
  }

  private void refused(Output o, String words) {
    MillraceException e = assertThrows(MillraceException.class, () -> fetch(o));
    assertTrue(e.getMessage().contains(words), e::getMessage);
  }

  private Output scatter(int count, int... indices) {
    return scope
        .node("TensorListScatterV2")
        .attr("element_dtype", DType.FLOAT)
        .attr("shape_type", DType.INT32)
        .input(Const.of(scope, Tensor.vector(1f, 2f)))
        .input(Const.ints(scope, indices))
        .input(Const.of(scope, Tensor.of(Shape.of(0), new int[0])))
        .input(Const.of(scope, count))
        .add()
        .output();
  }

  @Test
  void errorsReadAsTensorFlows() {
    refused(
        stack(unset(DType.FLOAT, null, 3), DType.FLOAT),
        "Tried to stack list which only contains uninitialized tensors and has a"
            + " non-fully-defined element_shape: <unknown>");
    Output mixed =
        op("TensorListSetItem", DType.FLOAT)
            .input(unset(DType.FLOAT, null, 2))
            .input(Const.of(scope, 0))
            .input(Const.of(scope, 1f))
            .add()
            .output();
    mixed =
        op("TensorListSetItem", DType.FLOAT)
            .input(mixed)
            .input(Const.of(scope, 1))
            .input(Const.of(scope, Tensor.vector(1f, 2f)))
            .add()
            .output();
    refused(stack(mixed, DType.FLOAT), "Incompatible ranks during merge: 0 vs. 1");
    Output second =
        op("TensorListGather", DType.FLOAT)
            .input(mixed)
            .input(Const.ints(scope, 1))
            .input(Const.of(scope, -1))
            .add()
            .output();
    assertArrayEquals(new float[] {1, 2}, fetch(second));
    refused(
        stack(scatter(3, 1, 3), DType.FLOAT),
        "TensorListScatter: Trying to scatter at index 3 in list with size 3");
    refused(stack(scatter(-2, 1, 3), DType.FLOAT), "expects num_elements >= -1, found: -2");
    refused(
        stack(scatter(-1, 1, 0, 2), DType.FLOAT),
        "Invalid number of rows in input tensor. Expected: 3 Actual: 2");
    refused(stack(scatter(-1, -1, -2), DType.FLOAT), "must all be non-negative.");
  }
}
