package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NameAttrList;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.OpDef;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.RunOptions;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import dev.millrace.wire.TensorCodec;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Branches and loops that are functions, one within another, as TensorFlow 2 writes them. */
class FunctionCallsTest {
  private static final DataType INT = DataType.DT_INT32;
  private static final DataType FLOAT = DataType.DT_FLOAT;
  private static final DataType BOOL = DataType.DT_BOOL;
  private static final DataType RESOURCE = DataType.DT_RESOURCE;

  private final GraphDef.Builder def = GraphDef.newBuilder();
  private final Graph graph = StandardOps.newGraph();

  // ---- graphs ----

  private static AttrValue type(DataType t) {
    return AttrValue.newBuilder().setType(t).build();
  }

  private static AttrValue types(List<DataType> t) {
    return AttrValue.newBuilder().setList(AttrValue.ListValue.newBuilder().addAllType(t)).build();
  }

  private static AttrValue function(String name) {
    return AttrValue.newBuilder().setFunc(NameAttrList.newBuilder().setName(name)).build();
  }

  private static NodeDef.Builder node(String name, String op, String... inputs) {
    return NodeDef.newBuilder().setName(name).setOp(op).addAllInput(List.of(inputs));
  }

  private static NodeDef of(DataType t, String name, String op, String... inputs) {
    return node(name, op, inputs).putAttr("T", type(t)).build();
  }

  private static NodeDef constant(String name, Tensor value, String... after) {
    return node(name, "Const", after)
        .putAttr("dtype", type(DataType.forNumber(value.dtype().number())))
        .putAttr(
            "value", AttrValue.newBuilder().setTensor(TensorCodec.encodeConstant(value)).build())
        .build();
  }

  private static NodeDef placeholder(String name, DataType t) {
    return node(name, "Placeholder").putAttr("dtype", type(t)).build();
  }

  private static NodeDef call(
      String name, String function, List<DataType> in, List<DataType> out, String... inputs) {
    return node(name, "StatefulPartitionedCall", inputs)
        .putAttr("Tin", types(in))
        .putAttr("Tout", types(out))
        .putAttr("f", function(function))
        .build();
  }

  private static NodeDef loop(
      String name, String cond, String body, List<DataType> variables, String... inputs) {
    return node(name, "While", inputs)
        .putAttr("T", types(variables))
        .putAttr("cond", function(cond))
        .putAttr("body", function(body))
        .build();
  }

  private static NodeDef variable() {
    return node("v", "VarHandleOp")
        .putAttr("dtype", type(FLOAT))
        .putAttr(
            "shape", AttrValue.newBuilder().setShape(TensorCodec.encode(Shape.scalar())).build())
        .putAttr("shared_name", AttrValue.newBuilder().setS(ByteString.copyFromUtf8("v")).build())
        .build();
  }

  private static NodeDef onVariable(String name, String op, String... inputs) {
    return node(name, op, inputs).putAttr("dtype", type(FLOAT)).build();
  }

  /** Arguments are called a, b, c, ... after their place, and the results come from {@code ret}. */
  private void define(
      String name, List<DataType> in, List<DataType> out, List<String> ret, NodeDef... nodes) {
    OpDef.Builder signature = OpDef.newBuilder().setName(name);
    FunctionDef.Builder f = FunctionDef.newBuilder().addAllNodeDef(List.of(nodes));
    for (int i = 0; i < in.size(); i++) {
      String a = String.valueOf((char) ('a' + i));
      signature.addInputArg(OpDef.ArgDef.newBuilder().setName(a).setType(in.get(i)));
    }
    for (int i = 0; i < out.size(); i++) {
      signature.addOutputArg(OpDef.ArgDef.newBuilder().setName("r" + i).setType(out.get(i)));
      f.putRet("r" + i, ret.get(i));
    }
    def.getLibraryBuilder().addFunction(f.setSignature(signature));
  }

  /** A condition of loops: the first variable is less than {@code limit}. */
  private void defineLess(String name, List<DataType> variables, int limit) {
    define(
        name,
        variables,
        List.of(BOOL),
        List.of("less:z:0"),
        constant("limit", Tensor.scalar(limit)),
        of(INT, "less", "Less", "a", "limit:output:0"));
  }

  private static final NodeDef ONE = constant("one", Tensor.scalar(1));
  private static final NodeDef COUNT = of(INT, "next", "AddV2", "a", "one:output:0");

  private LocalSession session(NodeDef... nodes) {
    GraphCodec.importInto(def.addAllNode(List.of(nodes)).build(), graph, true);
    return new LocalSession(graph);
  }

  private List<Tensor> run(
      LocalSession s, Map<String, Tensor> feeds, List<String> fetches, String... targets) {
    Map<Output, Tensor> fed = new HashMap<>();
    feeds.forEach((k, v) -> fed.put(graph.output(k), v));
    return s.run(
        fed,
        fetches.stream().map(graph::output).toList(),
        Arrays.stream(targets).map(graph::node).toList(),
        RunOptions.DEFAULT.withTimeout(Duration.ofSeconds(20)));
  }

  private float fetch(LocalSession s, String name) {
    return run(s, Map.of(), List.of(name)).getFirst().floatValue();
  }

  // ---- loops ----

  @Test
  void aBranchWithinALoopNeedsNoVariableOfIt() {
    // while (i < 3) x = p ? 2 x : 10
    List<DataType> variables = List.of(INT, FLOAT, BOOL);
    defineLess("less", variables, 3);
    define(
        "ten",
        List.of(FLOAT),
        List.of(FLOAT),
        List.of("ten:output:0"),
        constant("ten", Tensor.scalar(10f)));
    define(
        "twice",
        List.of(FLOAT),
        List.of(FLOAT),
        List.of("sum:z:0"),
        of(FLOAT, "sum", "AddV2", "a", "a"));
    define(
        "round",
        variables,
        variables,
        List.of("next:z:0", "if:output:0", "c"),
        ONE,
        COUNT,
        node("if", "If", "c", "b")
            .putAttr("Tcond", type(BOOL))
            .putAttr("Tin", types(List.of(FLOAT)))
            .putAttr("Tout", types(List.of(FLOAT)))
            .putAttr("then_branch", function("twice"))
            .putAttr("else_branch", function("ten"))
            .build());
    try (LocalSession s =
        session(
            placeholder("p", BOOL),
            constant("zero", Tensor.scalar(0)),
            constant("start", Tensor.scalar(1f)),
            loop("w", "less", "round", variables, "zero", "start", "p"))) {
      for (boolean p : new boolean[] {false, true}) {
        float y = run(s, Map.of("p:0", Tensor.scalar(p)), List.of("w:1")).getFirst().floatValue();
        assertEquals(p ? 8 : 10, y);
      }
    }
  }

  @Test
  void aLoopCallsAFunctionWithALoop() {
    // for 2 rounds: for 3 rounds: x += 2
    List<DataType> variables = List.of(INT, FLOAT);
    defineLess("less3", variables, 3);
    defineLess("less2", variables, 2);
    define(
        "add",
        variables,
        variables,
        List.of("next:z:0", "sum:z:0"),
        ONE,
        COUNT,
        constant("two", Tensor.scalar(2f)),
        of(FLOAT, "sum", "AddV2", "b", "two:output:0"));
    define(
        "inner",
        List.of(FLOAT),
        List.of(FLOAT),
        List.of("w:output:1"),
        constant("zero", Tensor.scalar(0)),
        loop("w", "less3", "add", variables, "zero:output:0", "a"));
    define(
        "round",
        variables,
        variables,
        List.of("next:z:0", "f:output:0"),
        ONE,
        COUNT,
        call("f", "inner", List.of(FLOAT), List.of(FLOAT), "b"));
    try (LocalSession s =
        session(
            constant("zero", Tensor.scalar(0)),
            constant("start", Tensor.scalar(0f)),
            loop("w", "less2", "round", variables, "zero", "start"))) {
      assertEquals(12, fetch(s, "w:1"));
      assertEquals(12, fetch(s, "w:1"));
    }
  }

  @Test
  void whatALoopHandsOnUnchangedIsReadInItsRoundsOnly() {
    // for 2 rounds: (_, k') = (for 3 rounds: k' = k); x = -(k')
    List<DataType> variables = List.of(INT, FLOAT, FLOAT);
    List<DataType> two = List.of(INT, FLOAT);
    defineLess("less3", two, 3);
    defineLess("less2", variables, 2);
    define("idle", two, two, List.of("next:z:0", "b"), ONE, COUNT);
    define(
        "hand",
        List.of(FLOAT),
        List.of(FLOAT),
        List.of("w:output:1"),
        constant("zero", Tensor.scalar(0)),
        loop("w", "less3", "idle", two, "zero:output:0", "a"));
    define(
        "round",
        variables,
        variables,
        List.of("next:z:0", "neg:y:0", "c"),
        ONE,
        COUNT,
        call("f", "hand", List.of(FLOAT), List.of(FLOAT), "c"),
        of(FLOAT, "neg", "Neg", "f:output:0"));
    try (LocalSession s =
        session(
            placeholder("k", FLOAT),
            constant("zero", Tensor.scalar(0)),
            constant("start", Tensor.scalar(5f)),
            loop("w", "less2", "round", variables, "zero", "start", "k"))) {
      List<Tensor> got = run(s, Map.of("k:0", Tensor.scalar(7f)), List.of("w:1", "w:2"));
      assertEquals(-7, got.get(0).floatValue());
      assertEquals(7, got.get(1).floatValue());
    }
  }

  @Test
  void aFunctionCalledInALoopMayReadNothingOfIt() {
    List<DataType> variables = List.of(INT, FLOAT);
    defineLess("less", variables, 3);
    define(
        "shape",
        List.of(FLOAT),
        List.of(FLOAT),
        List.of("sum:z:0"),
        constant("two", Tensor.scalar(2f)),
        of(FLOAT, "four", "AddV2", "two:output:0", "two:output:0"),
        of(FLOAT, "eight", "AddV2", "four:z:0", "four:z:0"),
        of(FLOAT, "sum", "AddV2", "a", "eight:z:0"));
    define(
        "round",
        variables,
        variables,
        List.of("next:z:0", "f:output:0"),
        ONE,
        COUNT,
        call("f", "shape", List.of(FLOAT), List.of(FLOAT), "b"));
    try (LocalSession s =
        session(
            constant("zero", Tensor.scalar(0)),
            constant("start", Tensor.scalar(1f)),
            loop("w", "less", "round", variables, "zero", "start"))) {
      assertEquals(25, fetch(s, "w:1"));
    }
  }

  @Test
  void aLoopMayChangeNothingButAVariable() {
    // while (v < 3) v += 1, with a variable of the loop that stays as it is
    List<DataType> variables = List.of(FLOAT, RESOURCE);
    define(
        "less",
        variables,
        List.of(BOOL),
        List.of("less:z:0"),
        constant("three", Tensor.scalar(3f)),
        onVariable("read", "ReadVariableOp", "b"),
        of(FLOAT, "less", "Less", "read:value:0", "three:output:0"));
    define(
        "round",
        variables,
        variables,
        List.of("a", "b"),
        constant("one", Tensor.scalar(1f)),
        onVariable("add", "AssignAddVariableOp", "b", "one:output:0"));
    try (LocalSession s = counting(loop("w", "less", "round", variables, "zero", "v"))) {
      run(s, Map.of(), List.of(), "init");
      run(s, Map.of(), List.of(), "w");
      assertEquals(3, fetch(s, "read:0"));
    }
  }

  // ---- results and effects ----

  /** A session on a variable v that {@code init} sets to 0, with {@code more} nodes. */
  private LocalSession counting(NodeDef... more) {
    def.addNode(variable())
        .addNode(constant("zero", Tensor.scalar(0f)))
        .addNode(onVariable("init", "AssignVariableOp", "v", "zero"))
        .addNode(onVariable("read", "ReadVariableOp", "v"));
    return session(more);
  }

  @Test
  void resultsBesideAResourceAreFetchedAndFed() {
    define(
        "f",
        List.of(FLOAT, RESOURCE),
        List.of(RESOURCE, FLOAT, FLOAT),
        List.of("b", "neg:y:0", "a"),
        of(FLOAT, "neg", "Neg", "a"));
    try (LocalSession s =
        counting(
            placeholder("x", FLOAT),
            call("f", "f", List.of(FLOAT, RESOURCE), List.of(RESOURCE, FLOAT, FLOAT), "x", "v"),
            of(FLOAT, "y", "AddV2", "f:1", "x"),
            of(FLOAT, "z", "AddV2", "f:2", "x"),
            onVariable("after", "ReadVariableOp", "f"))) {
      run(s, Map.of(), List.of(), "init");
      Tensor x = Tensor.scalar(3f);
      List<Tensor> got = run(s, Map.of("x:0", x), List.of("f:1", "f:2", "y:0"), "f");
      assertEquals(List.of(-3f, 3f, 0f), got.stream().map(Tensor::floatValue).toList());
      assertEquals(0, fetch(s, "after:0"));
      // What is fed in place of a result is read by those that read the result.
      got = run(s, Map.of("x:0", x, "f:1", Tensor.scalar(1f)), List.of("y:0"));
      assertEquals(4, got.getFirst().floatValue());
      got = run(s, Map.of("x:0", x, "f:2", Tensor.scalar(1f)), List.of("z:0", "y:0"));
      assertEquals(List.of(4f, 0f), got.stream().map(Tensor::floatValue).toList());
      // Nodes of a later graph know the results too.
      GraphCodec.importInto(
          GraphDef.newBuilder().addNode(of(FLOAT, "late", "Neg", "f:1")).build(), graph, true);
      got = run(s, Map.of("x:0", x), List.of("late:0"));
      assertEquals(3, got.getFirst().floatValue());
      GraphDef beyond = GraphDef.newBuilder().addNode(of(FLOAT, "bad", "Neg", "f:3")).build();
      MillraceException e =
          assertThrows(MillraceException.class, () -> GraphCodec.importInto(beyond, graph, true));
      assertTrue(e.getMessage().contains("invalid output 3 of source node f"), e::getMessage);
    }
  }

  @Test
  void theEffectOfABranchIsWaitedForIfItIsTaken() {
    // if (a) v += 1, as Switch and Merge, beside a result that does not depend on it
    List<DataType> in = List.of(BOOL, FLOAT, RESOURCE);
    define(
        "f",
        in,
        List.of(FLOAT),
        List.of("neg:y:0"),
        of(FLOAT, "neg", "Neg", "b"),
        of(BOOL, "way", "Switch", "a", "a"),
        of(BOOL, "taken", "Identity", "way:output_true:0"),
        of(RESOURCE, "target", "Switch", "c", "a"),
        constant("one", Tensor.scalar(1f), "^taken"),
        onVariable("add", "AssignAddVariableOp", "target:output_true:0", "one:output:0"));
    try (LocalSession s =
        counting(
            placeholder("p", BOOL),
            placeholder("x", FLOAT),
            call("f", "f", in, List.of(FLOAT), "p", "x", "v"),
            node("late", "ReadVariableOp", "v", "^f").putAttr("dtype", type(FLOAT)).build())) {
      run(s, Map.of(), List.of(), "init");
      Tensor x = Tensor.scalar(3f);
      for (int i = 1; i <= 3; i++) {
        List<Tensor> got =
            run(s, Map.of("p:0", Tensor.scalar(true), "x:0", x), List.of("f:0", "late:0"));
        assertEquals(-3, got.get(0).floatValue());
        assertEquals(i, got.get(1).floatValue());
        got = run(s, Map.of("p:0", Tensor.scalar(false), "x:0", x), List.of("f:0", "late:0"));
        assertEquals(-3, got.get(0).floatValue());
        assertEquals(i, got.get(1).floatValue());
      }
    }
  }

  @Test
  void theEffectsOfALoopAreWaitedForInEachRound() {
    // for 4 rounds: v += 1, as Enter and Exit, beside a result that does not depend on it
    List<DataType> in = List.of(INT, FLOAT, RESOURCE);
    AttrValue frame = AttrValue.newBuilder().setS(ByteString.copyFromUtf8("frame")).build();
    AttrValue constant = AttrValue.newBuilder().setB(true).build();
    define(
        "f",
        in,
        List.of(FLOAT),
        List.of("neg:y:0"),
        of(FLOAT, "neg", "Neg", "b"),
        node("enter", "Enter", "a").putAttr("T", type(INT)).putAttr("frame_name", frame).build(),
        node("target", "Enter", "c")
            .putAttr("T", type(RESOURCE))
            .putAttr("frame_name", frame)
            .putAttr("is_constant", constant)
            .build(),
        node("merge", "Merge", "enter:output:0", "again:output:0")
            .putAttr("T", type(INT))
            .putAttr("N", AttrValue.newBuilder().setI(2).build())
            .build(),
        constant("four", Tensor.scalar(4), "^merge"),
        of(INT, "less", "Less", "merge:output:0", "four:output:0"),
        node("cond", "LoopCond", "less:z:0").build(),
        of(INT, "way", "Switch", "merge:output:0", "cond:output:0"),
        of(INT, "exit", "Exit", "way:output_false:0"),
        of(INT, "round", "Identity", "way:output_true:0"),
        constant("one", Tensor.scalar(1), "^round"),
        constant("step", Tensor.scalar(1f), "^round"),
        onVariable("add", "AssignAddVariableOp", "target:output:0", "step:output:0"),
        of(INT, "next", "AddV2", "round:output:0", "one:output:0"),
        of(INT, "again", "NextIteration", "next:z:0"));
    try (LocalSession s =
        counting(
            placeholder("x", FLOAT),
            constant("from", Tensor.scalar(0)),
            call("f", "f", in, List.of(FLOAT), "from", "x", "v"),
            node("late", "ReadVariableOp", "v", "^f").putAttr("dtype", type(FLOAT)).build())) {
      run(s, Map.of(), List.of(), "init");
      for (int i = 1; i <= 3; i++) {
        List<Tensor> got = run(s, Map.of("x:0", Tensor.scalar(3f)), List.of("f:0", "late:0"));
        assertEquals(-3, got.get(0).floatValue());
        assertEquals(4 * i, got.get(1).floatValue());
      }
    }
  }

  @Test
  void aConditionOfSeveralValuesIsRefused() {
    List<DataType> variables = List.of(INT);
    define("two", variables, List.of(BOOL, BOOL), List.of("a", "a"));
    define("round", variables, variables, List.of("next:z:0"), ONE, COUNT);
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () ->
                session(
                    constant("zero", Tensor.scalar(0)),
                    loop("w", "two", "round", variables, "zero")));
    assertTrue(e.getMessage().contains("a single scalar"), e::getMessage);
  }
}
