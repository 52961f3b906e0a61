package dev.millrace.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class GraphTest {
  private final Graph graph = ToyOps.newGraph();
  private final Scope scope = Scope.of(graph);
  private final Output x = ToyOps.source(scope.withName("x"), DType.FLOAT, Shape.of(2, -1));

  private static void refused(Code code, Executable mistake, String... words) {
    MillraceException e = assertThrows(MillraceException.class, mistake);
    assertEquals(code, e.code(), e::getMessage);
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), e::getMessage);
    }
  }

  @Test
  void nodesAreFoundByNameAndOutputsByIndex() {
    Node first = scope.withName("first").node("First").inputs(List.of(x, x)).add();
    assertSame(first, graph.node("first"));
    assertSame(first.output(1), graph.output("first:1"));
    assertSame(first.output(0), graph.output("first"));
    assertEquals("first", first.output(0).inputName());
    assertEquals("first:1", first.output(1).inputName());
  }

  @Test
  void aMissingNodeIsNamedWithTheClosest() {
    scope.withName("weights").node("Source").add();
    refused(Code.NOT_FOUND, () -> graph.node("weigths"), "'weigths'", "weights");
  }

  @Test
  void anOutputThatIsNotThereIsNamed() {
    refused(Code.INVALID_ARGUMENT, () -> graph.output("x:4"), "'x'", "4");
    refused(Code.INVALID_ARGUMENT, () -> graph.output("x:first"), "'x:first'");
  }

  @Test
  void namesAreUnique() {
    refused(
        Code.INVALID_ARGUMENT,
        () -> graph.add("x", ToyOps.SOURCE, "", Map.of(), List.of(), List.of()),
        "'x'",
        "unique");
  }

  @Test
  void typesFollowFromTheInputs() {
    Node sum = scope.add(ToyOps.ADD, x, x);
    assertEquals(DType.FLOAT, sum.typeAttr("T"));
    assertEquals(DType.FLOAT, sum.output().dtype());
  }

  @Test
  void shapesAreInferredWhenANodeIsAdded() {
    Output row = ToyOps.source(scope, DType.FLOAT, Shape.of(1, 5));
    assertEquals(Shape.of(2, 5), scope.add(ToyOps.ADD, x, row).output().shape());
  }

  @Test
  void shapesThatCannotBeAreRefusedWithTheNodesName() {
    Output y = ToyOps.source(scope, DType.FLOAT, Shape.of(3, 5));
    refused(
        Code.INVALID_ARGUMENT, () -> scope.withName("sum").add(ToyOps.ADD, x, y), "AddV2 'sum'");
    assertEquals(2, graph.size(), "a node that is refused is not there");
  }

  @Test
  void aListsLengthFollowsFromTheInputs() {
    assertEquals(3, scope.node("First").inputs(List.of(x, x, x)).add().intAttr("N"));
    refused(
        Code.INVALID_ARGUMENT,
        () -> scope.withName("none").node("First").inputs(List.of()).attr("T", DType.FLOAT).add(),
        "'none'",
        "at least 1");
  }

  @Test
  void anAttributeOutsideItsValuesIsRefused() {
    refused(
        Code.INVALID_ARGUMENT,
        () -> scope.withName("f").node("First").inputs(List.of(x)).attr("mode", "c").add(),
        "First 'f'",
        "'mode'",
        "[a, b]");
    assertEquals("a", scope.node("First").inputs(List.of(x)).add().stringAttr("mode"));
  }

  @Test
  void anAttributeTheOpDoesNotHaveIsRefusedWithTheClosest() {
    refused(
        Code.INVALID_ARGUMENT,
        () -> scope.withName("f").node("First").inputs(List.of(x)).attr("mdoe", "a").add(),
        "First 'f' has no attribute 'mdoe'",
        "mode");
    Node noted = scope.node("First").inputs(List.of(x)).attr("_note", "for others").add();
    assertEquals("for others", noted.stringAttr("_note"));
  }

  @Test
  void aValueThatCannotBeAnAttributeIsRefused() {
    refused(
        Code.INVALID_ARGUMENT,
        () -> scope.withName("f").node("First").attr("mode", null),
        "First 'f': attribute 'mode'",
        "null");
  }

  @Test
  void inputsOfTheWrongNumberOrKindAreRefusedWithTheNodesName() {
    Scope sum = scope.withName("sum");
    refused(Code.INVALID_ARGUMENT, () -> sum.node("AddV2").input(x).add(), "AddV2 'sum'", "1 were");
    refused(Code.INVALID_ARGUMENT, () -> sum.node("AddV2").input(null), "'sum'", "input 0 is null");
    refused(
        Code.INVALID_ARGUMENT,
        () -> sum.node("AddV2").inputs(List.of(x, x)).input(x).add(),
        "AddV2 'sum'",
        "'x' is a single tensor");
  }

  @Test
  void inputsOfAnotherGraphAreRefused() {
    Output other = ToyOps.source(Scope.of(ToyOps.newGraph()), DType.FLOAT, Shape.of(2, 2));
    refused(
        Code.INVALID_ARGUMENT,
        () -> scope.withName("sum").add(ToyOps.ADD, x, other),
        "AddV2 'sum'",
        "another graph");
    refused(
        Code.INVALID_ARGUMENT,
        () -> scope.withName("later").withControlInputs(other.node()).add(ToyOps.ADD, x, x),
        "AddV2 'later'",
        "another graph");
  }

  @Test
  void aBackEdgeIsConnectedOnceAndFromNextIterationOnly() {
    Node merge = scope.withName("head").node("Merge").inputs(Arrays.asList(x, null)).add();
    Output next = scope.withName("next").add(ToyOps.NEXT, merge.output(0)).output();
    refused(Code.INVALID_ARGUMENT, () -> graph.connectBackEdge(merge, 1, x), "cycle", "'head'");
    graph.connectBackEdge(merge, 1, next);
    assertSame(next, merge.input(1));
    refused(Code.INVALID_ARGUMENT, () -> graph.connectBackEdge(merge, 1, next), "already");
  }

  @Test
  void collectionsKeepWhatIsPutIn() {
    graph.collection("trainable").add(x);
    assertEquals(List.of(x), graph.collection("trainable"));
    assertEquals(List.of(), graph.collection("other"));
  }
}
