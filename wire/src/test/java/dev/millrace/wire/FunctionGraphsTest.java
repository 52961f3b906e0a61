package dev.millrace.wire;

import static dev.millrace.wire.FunctionLoweringTest.function;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.DataType;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.FunctionDefLibrary;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NameAttrList;
import dev.millrace.proto.NodeDef;
import dev.millrace.tensor.DType;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Functions that a node has as attributes: they travel with it, in both directions. */
class FunctionGraphsTest {
  /** A node that would call a function itself. */
  private static final Op CALLER =
      Op.define("Caller")
          .attr("f: func")
          .input("x: float")
          .output("y: float")
          .shape(Shapes.unknown())
          .kernel(c -> c.forward(0, 0))
          .noGradient("a toy")
          .build();

  private static final OpRegistry REGISTRY = StandardOps.registry().with(List.of(CALLER));
  private static final dev.millrace.proto.AttrValue FLOAT =
      dev.millrace.proto.AttrValue.newBuilder().setType(DataType.DT_FLOAT).build();

  private static NodeDef node(String name, String op, String... inputs) {
    return NodeDef.newBuilder()
        .setName(name)
        .setOp(op)
        .addAllInput(List.of(inputs))
        .putAttr("T", FLOAT)
        .build();
  }

  private static NodeDef caller(String name, String function, String input) {
    return NodeDef.newBuilder()
        .setName(name)
        .setOp("Caller")
        .addInput(input)
        .putAttr(
            "f",
            dev.millrace.proto.AttrValue.newBuilder()
                .setFunc(NameAttrList.newBuilder().setName(function))
                .build())
        .build();
  }

  private static GraphDef graph(List<FunctionDef> functions, NodeDef... nodes) {
    return GraphDef.newBuilder()
        .addNode(
            NodeDef.newBuilder().setName("x").setOp("Placeholder").putAttr("dtype", FLOAT).build())
        .addAllNode(List.of(nodes))
        .setLibrary(FunctionDefLibrary.newBuilder().addAllFunction(functions))
        .build();
  }

  private static Graph read(GraphDef def) {
    Graph g = new Graph(REGISTRY);
    GraphCodec.importInto(def, g, true);
    return g;
  }

  private static final FunctionDef TWICE =
      function("twice", "sum:z:0", node("sum", "AddV2", "a", "a"));

  /**
   * Calls one by a node of its name, which is put in place of the call, and one by an attribute.
   */
  private static final FunctionDef OUTER =
      function("outer", "c:y:0", node("t", "twice", "a"), caller("c", "twice", "t:r:0"));

  private static final FunctionDef UNUSED = function("unused", "a");

  @Test
  void aBodyIsAGraphBetweenArgumentsAndResults() {
    Graph g = read(graph(List.of(TWICE, OUTER, UNUSED), caller("c", "outer", "x")));
    AttrValue.Func f = g.node("c").functionAttr("f");
    assertEquals(List.of(DType.FLOAT), f.body().arguments());
    assertEquals(List.of(DType.FLOAT), f.body().results());
    Graph body = f.body().graph();
    assertEquals("_Arg", body.node("a").op().name());
    Node result =
        body.nodes().stream()
            .filter(n -> n.op().role() == Op.Role.RETVAL)
            .findFirst()
            .orElseThrow();
    assertSame(body.node("c"), result.input(0).node());
    assertEquals("AddV2", body.node("c").input(0).node().op().name());
    assertEquals(2, body.node("c").functionAttr("f").body().graph().node("sum").inputCount());
  }

  @Test
  void theLibraryIsWrittenAsFarAsItIsUsed() {
    Graph g = read(graph(List.of(TWICE, OUTER, UNUSED), caller("c", "outer", "x")));
    GraphDef again = GraphCodec.encode(g);
    Set<String> names =
        again.getLibrary().getFunctionList().stream()
            .map(f -> f.getSignature().getName())
            .collect(Collectors.toSet());
    assertEquals(Set.of("outer", "twice"), names);
    assertEquals(again, GraphCodec.encode(read(again)));
  }

  /** A graph without such nodes is written as before. */
  @Test
  void nothingIsWrittenWhereNothingIsCalled() {
    Graph g = read(graph(List.of(TWICE), node("y", "Identity", "x")));
    assertEquals(0, GraphCodec.encode(g).getLibrary().getFunctionCount());
  }

  @Test
  void whatCannotBeCalledIsRefused() {
    MillraceException missing =
        assertThrows(
            MillraceException.class, () -> read(graph(List.of(), caller("c", "nowhere", "x"))));
    assertEquals(Code.NOT_FOUND, missing.code());
    assertTrue(missing.getMessage().contains("'nowhere'"), missing.getMessage());
    FunctionDef endless =
        function("endless", "d:y:0", caller("c", "endless", "a"), caller("d", "endless", "c:y:0"));
    MillraceException deep =
        assertThrows(
            MillraceException.class,
            () -> read(graph(List.of(endless), caller("c", "endless", "x"))));
    assertEquals(Code.INVALID_ARGUMENT, deep.code());
    FunctionDef broken = function("broken", "c:y:0", node("c", "NoSuchOp", "a"));
    MillraceException unknown =
        assertThrows(
            MillraceException.class,
            () -> read(graph(List.of(broken), caller("c", "broken", "x"))));
    assertTrue(unknown.getMessage().contains("broken"), unknown.getMessage());
  }
}
