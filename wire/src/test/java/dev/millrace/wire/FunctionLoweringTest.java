package dev.millrace.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.FunctionDefLibrary;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NameAttrList;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.OpDef;
import dev.millrace.proto.TensorProto;
import dev.millrace.proto.TensorShapeProto;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class FunctionLoweringTest {
  private static final AttrValue FLOAT = AttrValue.newBuilder().setType(DataType.DT_FLOAT).build();
  private static final AttrValue FLOATS =
      AttrValue.newBuilder()
          .setList(AttrValue.ListValue.newBuilder().addType(DataType.DT_FLOAT))
          .build();
  private static final NodeDef X =
      NodeDef.newBuilder().setName("x").setOp("Placeholder").putAttr("dtype", FLOAT).build();

  private static NodeDef node(String name, String op, String... inputs) {
    return NodeDef.newBuilder()
        .setName(name)
        .setOp(op)
        .addAllInput(List.of(inputs))
        .putAttr("T", FLOAT)
        .build();
  }

  private static NodeDef call(String name, String function, String... inputs) {
    return NodeDef.newBuilder()
        .setName(name)
        .setOp("PartitionedCall")
        .addAllInput(List.of(inputs))
        .putAttr("Tin", FLOATS)
        .putAttr("Tout", FLOATS)
        .putAttr(
            "f",
            AttrValue.newBuilder().setFunc(NameAttrList.newBuilder().setName(function)).build())
        .build();
  }

  /** A function of one float {@code a} that gives {@code result}. */
  static FunctionDef function(String name, String result, NodeDef... nodes) {
    OpDef.ArgDef.Builder a = OpDef.ArgDef.newBuilder().setName("a").setType(DataType.DT_FLOAT);
    OpDef.ArgDef.Builder r = OpDef.ArgDef.newBuilder().setName("r").setType(DataType.DT_FLOAT);
    return FunctionDef.newBuilder()
        .setSignature(OpDef.newBuilder().setName(name).addInputArg(a).addOutputArg(r))
        .addAllNodeDef(List.of(nodes))
        .putRet("r", result)
        .build();
  }

  private static GraphDef graph(List<FunctionDef> functions, NodeDef... nodes) {
    return GraphDef.newBuilder()
        .addAllNode(List.of(nodes))
        .setLibrary(FunctionDefLibrary.newBuilder().addAllFunction(functions))
        .build();
  }

  private static MillraceException refused(GraphDef def) {
    return assertThrows(
        MillraceException.class, () -> GraphCodec.importInto(def, StandardOps.newGraph(), true));
  }

  private static final FunctionDef TWICE =
      function("twice", "sum:z:0", node("sum", "AddV2", "a", "a"));

  /** A graph that calls a function that calls another. */
  static GraphDef sample() {
    FunctionDef four =
        function(
            "four",
            "second:r:0",
            call("first", "twice", "a"),
            call("second", "twice", "first:r:0"));
    return graph(List.of(TWICE, four), X, call("y", "four", "x"));
  }

  @Test
  void aCallBecomesItsBodyAndKeepsItsName() {
    Graph g = StandardOps.newGraph();
    GraphCodec.importInto(
        graph(List.of(TWICE), X, call("f", "twice", "x"), node("y", "Neg", "f")), g, true);
    assertEquals("AddV2", g.node("y").input(0).node().op().name());
    assertEquals("x", g.node("y").input(0).node().input(0).node().name());
    assertEquals("NoOp", g.node("f").op().name());
    assertEquals(g.node("y").input(0), g.output("f:0"));
  }

  @Test
  void aFunctionOfAnEarlierGraphIsKnown() {
    Graph g = StandardOps.newGraph();
    GraphCodec.importInto(graph(List.of(TWICE), X), g, true);
    GraphCodec.importInto(graph(List.of(), call("f", "twice", "x")), g, true);
    assertEquals("AddV2", g.output("f:0").node().op().name());
  }

  @Test
  void whatWaitsForNothingInABodyWaitsForTheCallersControls() {
    Graph g = StandardOps.newGraph();
    GraphCodec.importInto(
        graph(List.of(TWICE), X, node("first", "Neg", "x"), call("f", "twice", "x", "^first")),
        g,
        true);
    assertEquals(List.of(g.node("first")), g.output("f:0").node().controlInputs());
  }

  @Test
  void anUnknownFunctionIsNamed() {
    MillraceException e = refused(graph(List.of(), X, call("f", "thrice", "x")));
    assertEquals(Code.NOT_FOUND, e.code());
    assertTrue(e.getMessage().contains("'thrice'") && e.getMessage().contains("'f'"));
  }

  @Test
  void aFunctionThatCallsItselfIsRefused() {
    FunctionDef loop = function("loop", "again:output:0", call("again", "loop", "a"));
    MillraceException e = refused(graph(List.of(loop), X, call("f", "loop", "x")));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().contains("do not come to an end"), e::getMessage);
  }

  @Test
  void anEdgeFromNowhereIsNamed() {
    FunctionDef bad = function("bad", "sum:z:0", node("sum", "AddV2", "a", "b"));
    MillraceException e = refused(graph(List.of(bad), X, call("f", "bad", "x")));
    assertTrue(e.getMessage().contains("'bad'") && e.getMessage().contains("'b'"), e::getMessage);
  }

  private static NodeDef calling(String op, String function, NodeDef call) {
    AttrValue.ListValue two =
        AttrValue.ListValue.newBuilder()
            .addType(DataType.DT_FLOAT)
            .addType(DataType.DT_FLOAT)
            .build();
    return call.toBuilder()
        .setOp(op)
        .putAttr("Tin", AttrValue.newBuilder().setList(two).build())
        .putAttr("Tout", FLOATS)
        .putAttr(
            "f",
            AttrValue.newBuilder().setFunc(NameAttrList.newBuilder().setName(function)).build())
        .build();
  }

  /** The square of a has the slope 2 a: its nodes read the argument and the gradient given. */
  @Test
  void theGradientOfAFunctionIsComputedFromItsInputs() {
    FunctionDef square = function("square", "y:y:0", node("y", "Square", "a"));
    NodeDef dy = X.toBuilder().setName("dy").build();
    Graph g = StandardOps.newGraph();
    GraphCodec.importInto(
        graph(
            List.of(square),
            X,
            dy,
            calling("SymbolicGradient", "square", node("g", "", "x", "dy")),
            node("z", "Neg", "g")),
        g,
        true);
    Set<String> read = new TreeSet<>();
    collect(g.node("z"), read);
    assertTrue(read.containsAll(Set.of("x", "dy")), read::toString);
    assertEquals(g.node("z").input(0), g.output("g:0"));
  }

  private static void collect(Node n, Set<String> names) {
    if (names.add(n.name())) {
      n.inputs().forEach(in -> collect(in.node(), names));
    }
  }

  @Test
  void aGradientWithoutThoseOfTheResultsIsRefused() {
    MillraceException e =
        refused(graph(List.of(TWICE), X, calling("SymbolicGradient", "twice", node("g", "", "x"))));
    assertTrue(e.getMessage().contains("'g' has 1 inputs") && e.getMessage().contains("needs 2"));
  }

  private static NodeDef text(String name, String value) {
    return NodeDef.newBuilder()
        .setName(name)
        .setOp("Const")
        .putAttr("dtype", AttrValue.newBuilder().setType(DataType.DT_STRING).build())
        .putAttr(
            "value",
            AttrValue.newBuilder()
                .setTensor(
                    TensorProto.newBuilder()
                        .setDtype(DataType.DT_STRING)
                        .setTensorShape(TensorShapeProto.getDefaultInstance())
                        .addStringVal(ByteString.copyFromUtf8(value)))
                .build())
        .build();
  }

  @Test
  void aRemoteCallRunsOnItsTarget() {
    Graph g = StandardOps.newGraph();
    GraphCodec.importInto(
        graph(
            List.of(TWICE),
            X,
            text("there", "/job:worker/task:1"),
            calling("RemoteCall", "twice", node("f", "", "there", "x"))),
        g,
        true);
    Node sum = g.output("f:0").node();
    assertEquals("AddV2", sum.op().name());
    assertEquals("/job:worker/task:1", sum.device());
  }

  @Test
  void aRemoteCallWithATargetKnownOnlyLaterSaysWhatToDo() {
    NodeDef where =
        X.toBuilder()
            .setName("where")
            .putAttr("dtype", AttrValue.newBuilder().setType(DataType.DT_STRING).build())
            .build();
    MillraceException e =
        refused(
            graph(
                List.of(TWICE),
                X,
                where,
                calling("RemoteCall", "twice", node("f", "", "where", "x"))));
    assertEquals(Code.UNIMPLEMENTED, e.code());
    assertTrue(e.getMessage().contains("tf.constant"), e::getMessage);
  }
}
