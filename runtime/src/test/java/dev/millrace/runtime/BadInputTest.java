package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.MatMul;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What a caller gets to read who has made a mistake: what, where, found against needed. */
class BadInputTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());

  private static void refused(Code code, Executable mistake, String... words) {
    MillraceException e = assertThrows(MillraceException.class, mistake);
    assertEquals(code, e.code(), e::getMessage);
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), () -> "'" + word + "' is not in: " + e);
    }
  }

  private Output placeholder(String name, long... dims) {
    return Placeholder.of(scope.withName(name), DType.FLOAT, Shape.of(dims));
  }

  @Test
  void aWrongShapeIsRefusedWhereTheGraphIsBuilt() {
    Output a = placeholder("a", 64, 784);
    Output b = placeholder("b", 10, 784);
    refused(
        Code.INVALID_ARGUMENT,
        () -> MatMul.of(scope.withName("dense/matmul"), a, b),
        "MatMul 'dense/matmul'",
        "[64,784]",
        "[10,784]",
        "transpose_b=true");
  }

  @Test
  void aWrongTypeIsRefusedWhereTheGraphIsBuilt() {
    Output a = placeholder("a", 2);
    Output n = Const.of(scope.withName("n"), 3);
    refused(
        Code.INVALID_ARGUMENT,
        () -> Arithmetic.add(scope.withName("sum"), a, n),
        "AddV2 'sum'",
        "must be float",
        "'n:0' is int32",
        "Cast");
  }

  @Test
  void shapesThatDoNotAgreeAreNamedWithTheInputs() {
    Output v = VariableV2.of(scope.withName("w"), DType.FLOAT, Shape.of(2));
    Output g = placeholder("g", 3);
    Output rate = Const.of(scope, .1f);
    refused(
        Code.INVALID_ARGUMENT,
        () ->
            scope
                .withName("u")
                .add(scope.graph().registry().find("ApplyGradientDescent"), v, rate, g),
        "ApplyGradientDescent 'u'",
        "w:0 float[2]",
        "g:0 float[3]");
  }

  @Test
  void aVariableReadAsAnotherTypeIsRefusedWhereTheGraphIsBuilt() {
    Output handle =
        scope
            .withName("w")
            .node("VarHandleOp")
            .attr("dtype", DType.FLOAT)
            .attr("shape", Shape.of(2))
            .add()
            .output();
    refused(
        Code.INVALID_ARGUMENT,
        () ->
            scope
                .withName("read")
                .node("ReadVariableOp")
                .input(handle)
                .attr("dtype", DType.DOUBLE)
                .add(),
        "ReadVariableOp 'read'",
        "Expected float got double");
  }

  @Test
  void valuesThatCannotBeFedAreNamed() {
    Output a = placeholder("a", 2);
    Output y = Arithmetic.add(scope.withName("y"), a, a);
    Tensor closed = Tensor.vector(1f, 2f);
    closed.close();
    try (Session session = new LocalSession(scope.graph())) {
      refused(Code.INVALID_ARGUMENT, () -> session.fetch(y, Map.of(a, closed)), "'a:0'", "closed");
      Map<Output, Tensor> nothing = new java.util.HashMap<>();
      nothing.put(a, null);
      refused(Code.INVALID_ARGUMENT, () -> session.fetch(y, nothing), "'a:0'", "null");
    }
  }

  @Test
  void gradientsOfWhatIsNotThereAreRefused() {
    Output x = placeholder("x", 2);
    Output y = Arithmetic.add(scope, x, x);
    Output other = Const.of(Scope.of(StandardOps.newGraph()).withName("stranger"), 1f);
    refused(
        Code.INVALID_ARGUMENT,
        () -> Gradients.of(scope, List.of(y), List.of(other)),
        "'stranger:0'",
        "another graph");
    var none = Gradients.of(scope, List.of(y), List.of(placeholder("z", 2))).getFirst();
    refused(Code.INVALID_ARGUMENT, () -> Gradients.dense(scope, none), "does not depend");
  }

  @Test
  void anUnknownOpIsNamedWithTheClosest() {
    refused(
        Code.NOT_FOUND,
        () -> scope.withName("act1").node("Rleu"),
        "No op 'Rleu'",
        "'act1'",
        "Relu");
  }

  @Test
  void aWrongShapeThatOnlyTheStepKnowsNamesTheNode() {
    Output a = placeholder("a", -1, -1);
    Output y = MatMul.of(scope.withName("y"), a, a);
    try (Session session = new LocalSession(scope.graph())) {
      refused(
          Code.INVALID_ARGUMENT,
          () -> session.fetch(y, Map.of(a, Tensor.of(Shape.of(2, 3), new float[6]))),
          "[2,3]",
          "node y");
    }
  }

  @Test
  void aMissingFeedIsNamed() {
    Output a = placeholder("images", 2);
    Output y = Arithmetic.add(scope.withName("y"), a, a);
    try (Session session = new LocalSession(scope.graph())) {
      refused(Code.INVALID_ARGUMENT, () -> session.fetch(y), "images");
    }
  }

  @Test
  void aFeedOfTheWrongTypeIsNamed() {
    Output a = placeholder("a", 2);
    Output y = Arithmetic.add(scope.withName("y"), a, a);
    try (Session session = new LocalSession(scope.graph())) {
      refused(
          Code.INVALID_ARGUMENT,
          () -> session.fetch(y, Map.of(a, Tensor.vector(1L, 2L))),
          "int64",
          "'a:0'",
          "float");
    }
  }

  @Test
  void anUninitializedVariableIsNamed() {
    Output v = VariableV2.of(scope.withName("weights"), DType.FLOAT, Shape.of(2));
    Output y = Identity.of(scope.withName("read"), v);
    try (Session session = new LocalSession(scope.graph())) {
      refused(
          Code.FAILED_PRECONDITION,
          () -> session.fetch(y),
          "Attempting to use uninitialized value weights",
          "node read");
    }
  }

  @Test
  void aCycleIsNamed() {
    Output enter = Placeholder.of(scope.withName("start"), DType.INT32, Shape.scalar());
    var merge =
        scope.withName("head").node("Merge").inputs(java.util.Arrays.asList(enter, null)).add();
    Output next = Arithmetic.add(scope.withName("next"), merge.output(0), enter);
    refused(
        Code.INVALID_ARGUMENT,
        () -> scope.graph().connectBackEdge(merge, 1, next),
        "'head'",
        "'next",
        "NextIteration");
  }

  @Test
  void nothingToRunIsRefused() {
    try (Session session = new LocalSession(scope.graph())) {
      refused(
          Code.INVALID_ARGUMENT,
          () -> session.run(Map.of(), List.of(), List.of()),
          "at least one target");
    }
  }

  @Test
  void aNodeOfAnotherGraphIsRefused() {
    Output other = Const.of(Scope.of(StandardOps.newGraph()).withName("stranger"), 1f);
    try (Session session = new LocalSession(scope.graph())) {
      refused(Code.INVALID_ARGUMENT, () -> session.fetch(other), "'stranger'", "another graph");
    }
  }

  @Test
  void theWrongNumberOfValuesForACallableIsRefused() {
    Output a = placeholder("a", 2);
    Output y = Arithmetic.add(scope.withName("y"), a, a);
    try (Session session = new LocalSession(scope.graph())) {
      Session.Callable c = session.makeCallable(List.of(a), List.of(y), List.of());
      refused(Code.INVALID_ARGUMENT, c::run, "takes 1 values", "a:0", "0 were given");
    }
  }

  @Test
  void whatIsLeftOutOfAGraphIsNamed() {
    Code invalid = Code.INVALID_ARGUMENT;
    Output a = placeholder("a", 2);
    refused(invalid, () -> Scope.of(null), "graph", "null");
    refused(invalid, () -> scope.node((String) null), "name of an op", "null");
    refused(invalid, () -> scope.withControlInputs(a.node(), null), "1 of the 2 control inputs");
    refused(invalid, () -> scope.colocatedWith((Node) null), "placed with", "null");
    refused(invalid, () -> Arithmetic.add(scope.withName("sum"), a, null), "'sum'", "input 1");
    refused(invalid, () -> scope.withName("all").node("AddN").inputs(null), "'all'", "input 0");
    refused(invalid, () -> scope.withName("late").node("NoOp").control(null), "'late'", "control");
    refused(invalid, () -> scope.graph().output(null), "name of an output", "null");
    refused(invalid, () -> Gradients.of(null, List.of(a), List.of(a)), "scope", "null");
    refused(invalid, () -> Gradients.of(scope, null, List.of(a)), "gradients", "null");
  }

  @Test
  void whatIsLeftOutOfARunIsNamed() {
    Code invalid = Code.INVALID_ARGUMENT;
    Output a = placeholder("a", 2);
    Output y = Arithmetic.add(scope.withName("y"), a, a);
    Map<Output, Tensor> nothing = Collections.singletonMap(a, null);
    Map<Output, Tensor> nowhere = Collections.singletonMap(null, Tensor.vector(1f, 2f));
    refused(invalid, () -> new LocalSession(null), "graph of a session", "null");
    try (Session session = new LocalSession(scope.graph())) {
      refused(invalid, () -> session.fetch(null), "output to fetch", "null");
      refused(invalid, () -> session.fetch(y, null), "map of feeds", "null");
      refused(invalid, () -> session.fetch(y, nothing), "'a:0'", "null");
      refused(invalid, () -> session.fetch(y, nowhere), "0 of the 1 feeds", "null");
      refused(invalid, () -> session.run(y.node(), null), "1 of the 2 targets", "null");
      refused(invalid, () -> session.run(Map.of(), null, List.of()), "list of fetches", "null");
      refused(invalid, () -> session.makeCallable(null, List.of(y), List.of()), "list of feeds");
    }
  }
}
