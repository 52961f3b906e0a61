package dev.millrace.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.flow.WhileLoop;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.MatMul;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class GraphCodecTest {
  /** A graph with most of what a NodeDef can hold: devices, control edges, colocation, a loop. */
  static Graph sample() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    Output x = Placeholder.of(s.withName("x"), DType.FLOAT, Shape.of(-1, 3));
    Output w =
        Const.of(
            s.withName("w").withDevice("/job:ps/task:1"),
            Tensor.of(Shape.of(3, 2), 1f, 2f, 3f, 4f, 5f, 6f));
    Output y = MatMul.of(s.withName("y").colocatedWith(w.node()), x, w);
    Const.of(s.withName("text").withControlInputs(y.node()), "a name");
    WhileLoop.of(
        s,
        List.of(Const.of(s, 0)),
        (t, v) -> Comparisons.less(t, v.getFirst(), Const.of(t, 5)),
        (t, v) -> List.of(Arithmetic.add(t, v.getFirst(), Const.of(t, 1))));
    return g;
  }

  private static NodeDef.Builder node(String name, String op, String... inputs) {
    return NodeDef.newBuilder().setName(name).setOp(op).addAllInput(List.of(inputs));
  }

  private static NodeDef placeholder(String name, DataType type) {
    return node(name, "Placeholder")
        .putAttr("dtype", AttrValue.newBuilder().setType(type).build())
        .build();
  }

  private static NodeDef typed(String name, String op, String... inputs) {
    return node(name, op, inputs)
        .putAttr("T", AttrValue.newBuilder().setType(DataType.DT_FLOAT).build())
        .build();
  }

  private static Graph imported(NodeDef... nodes) {
    Graph g = StandardOps.newGraph();
    GraphCodec.importInto(GraphDef.newBuilder().addAllNode(List.of(nodes)).build(), g, true);
    return g;
  }

  private static void refused(Code code, List<String> words, NodeDef... nodes) {
    MillraceException e = assertThrows(MillraceException.class, () -> imported(nodes));
    assertEquals(code, e.code(), e::getMessage);
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), e::getMessage);
    }
  }

  private static final NodeDef X = placeholder("x", DataType.DT_FLOAT);

  @Test
  void aGraphComesThroughUnchanged() {
    GraphDef def = GraphCodec.encode(sample());
    Graph again = StandardOps.newGraph();
    GraphCodec.importInto(def, again, true);
    for (Node n : sample().nodes()) {
      Node m = again.node(n.name());
      assertEquals(n.device(), m.device());
      assertEquals(
          n.inputs().stream().map(Output::name).toList(),
          m.inputs().stream().map(Output::name).toList());
      assertEquals(n.controlInputs().toString(), m.controlInputs().toString());
      assertEquals(n.attrs().keySet(), m.attrs().keySet());
    }
    assertEquals(
        Shape.of(-1, 2), again.output("y:0").shape(), "shapes are inferred anew on the way in");
  }

  @Test
  void nodesMayComeInAnyOrder() {
    assertEquals("x", imported(typed("y", "Neg", "x"), X).node("y").input(0).node().name());
  }

  @Test
  void anAttributeNobodyKnowsSurvives() {
    AttrValue note = AttrValue.newBuilder().setTypeValue(900).build();
    NodeDef n = typed("y", "Neg", "x").toBuilder().putAttr("_note", note).build();
    GraphDef again = GraphCodec.encode(imported(X, n));
    assertEquals(note, again.getNode(1).getAttrOrThrow("_note"));
  }

  @Test
  void anUnknownOpIsNamedWithTheClosest() {
    refused(Code.NOT_FOUND, List.of("'Rleu'", "'act1'", "Relu"), X, typed("act1", "Rleu", "x"));
  }

  @Test
  void aMissingInputIsNamed() {
    refused(Code.INVALID_ARGUMENT, List.of("'y'", "'z'"), typed("y", "Neg", "z"));
  }

  @Test
  void anOutputThatDoesNotExistIsNamed() {
    refused(Code.INVALID_ARGUMENT, List.of("x"), X, typed("y", "Neg", "x:3"));
    refused(Code.INVALID_ARGUMENT, List.of("'x'", "-1"), X, typed("y", "Neg", "x:-1"));
  }

  @Test
  void anInputThatIsNoNameIsRefused() {
    refused(Code.INVALID_ARGUMENT, List.of("'y'", "'x:one'"), X, typed("y", "Neg", "x:one"));
  }

  @Test
  void controlInputsComeLast() {
    refused(Code.INVALID_ARGUMENT, List.of("'y'", "last"), X, typed("y", "Neg", "^x", "x"));
  }

  @Test
  void aCycleIsNamed() {
    refused(
        Code.INVALID_ARGUMENT,
        List.of("cycle", "'a'"),
        typed("a", "Neg", "b"),
        typed("b", "Neg", "a"));
    refused(Code.INVALID_ARGUMENT, List.of("cycle", "'a'"), X, typed("a", "Neg", "x", "^a"));
    refused(
        Code.INVALID_ARGUMENT,
        List.of("node 'b' needs 'c' needs 'b'"),
        typed("afterwards", "Neg", "b"),
        typed("b", "Neg", "c"),
        typed("c", "Neg", "b"));
  }

  @Test
  void twoNodesOfOneNameAreRefused() {
    refused(Code.INVALID_ARGUMENT, List.of("'x'", "twice"), X, X);
  }

  @Test
  void aNameThatIsNoneIsRefused() {
    refused(Code.INVALID_ARGUMENT, List.of("'_x'"), placeholder("_x", DataType.DT_FLOAT));
    refused(Code.INVALID_ARGUMENT, List.of("''"), placeholder("", DataType.DT_FLOAT));
  }

  @Test
  void anInputOfTheWrongTypeIsRefusedWhereItIsUsed() {
    refused(
        Code.INVALID_ARGUMENT,
        List.of("Neg 'y'", "'i:0' is int32", "must be float"),
        placeholder("i", DataType.DT_INT32),
        typed("y", "Neg", "i"));
  }

  @Test
  void tooManyInputsAreRefused() {
    refused(Code.INVALID_ARGUMENT, List.of("Neg 'y'", "1 inputs"), X, typed("y", "Neg", "x", "x"));
  }

  @Test
  void aMissingAttributeIsNamed() {
    refused(Code.INVALID_ARGUMENT, List.of("Neg 'y'", "'T'"), X, node("y", "Neg", "x").build());
  }

  @Test
  void anAttributeOfTheWrongKindIsNamed() {
    NodeDef n = node("y", "Neg", "x").putAttr("T", AttrValue.newBuilder().setI(3).build()).build();
    refused(Code.INVALID_ARGUMENT, List.of("Neg 'y'", "'T'"), X, n);
  }

  @Test
  void aShapeThatCannotBeIsRefusedWhereItIsMade() {
    AttrValue dims = AttrValue.newBuilder().setShape(TensorCodec.encode(Shape.of(2, 3))).build();
    NodeDef matrix = X.toBuilder().putAttr("shape", dims).build();
    refused(
        Code.INVALID_ARGUMENT,
        List.of("MatMul 'y'", "[2,3]"),
        matrix,
        typed("y", "MatMul", "x", "x"));
  }

  @Test
  void aListThatIsTooLongIsRefused() {
    NodeDef split =
        node("s", "Split", "d", "x")
            .putAttr("T", AttrValue.newBuilder().setType(DataType.DT_FLOAT).build())
            .putAttr("num_split", AttrValue.newBuilder().setI(1L << 31).build())
            .build();
    refused(
        Code.INVALID_ARGUMENT,
        List.of("Split 's'", "'num_split' is 2147483648", "65536"),
        placeholder("x", DataType.DT_FLOAT),
        placeholder("d", DataType.DT_INT32),
        split);
  }

  @Test
  void loopsNestedWithoutEndAreRefused() {
    List<NodeDef> nodes = new ArrayList<>(List.of(placeholder("x", DataType.DT_FLOAT)));
    String last = "x";
    for (int i = 0; i < 20_000; i++) {
      nodes.add(
          node("e" + i, "Enter", last)
              .putAttr("T", AttrValue.newBuilder().setType(DataType.DT_FLOAT).build())
              .putAttr(
                  "frame_name",
                  AttrValue.newBuilder().setS(ByteString.copyFromUtf8("f" + i)).build())
              .build());
      last = "e" + i;
    }
    refused(
        Code.INVALID_ARGUMENT, List.of("Enter 'e10000'", "nested"), nodes.toArray(NodeDef[]::new));
  }

  @Test
  void garbageIsNotAGraph() {
    byte[] bytes = GraphCodec.encode(sample()).toByteArray();
    Graph g = StandardOps.newGraph();
    byte[] truncated = Arrays.copyOf(bytes, bytes.length - 3);
    MillraceException e =
        assertThrows(MillraceException.class, () -> GraphCodec.parseInto(truncated, g));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().contains(" bytes are not a GraphDef: "), e::getMessage);
    assertEquals(0, g.size());
  }
}
