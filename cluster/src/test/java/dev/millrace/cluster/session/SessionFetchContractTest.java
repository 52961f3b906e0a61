package dev.millrace.cluster.session;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Split;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.AssignVariable;
import dev.millrace.ops.state.ReadVariable;
import dev.millrace.ops.state.VarHandle;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.trace.StepTrace;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** What can be fetched and run, and what is said of what cannot. */
class SessionFetchContractTest extends SessionContract {
  @EveryKind
  void aScalarIsFetched(SessionKind kind) {
    Output a = Const.of(scope, 2f);
    try (Session s = open(kind)) {
      Tensor r = fetch(s, node("y", "Square", a));
      assertEquals(4, r.floatValue());
      assertEquals(Shape.scalar(), r.shape());
    }
  }

  @EveryKind
  void severalOutputsAreFetchedInTheirOrder(SessionKind kind) {
    Output a = Const.of(scope, 2f);
    Output b = node("b", "Square", a);
    Output c = node("c", "Neg", b);
    try (Session s = open(kind)) {
      List<Tensor> r = kept(s.run(Map.of(), List.of(c, a, b), List.of()));
      assertArrayEquals(
          new float[] {-4, 2, 4},
          new float[] {r.get(0).floatValue(), r.get(1).floatValue(), r.get(2).floatValue()});
    }
  }

  @EveryKind
  void theSameOutputIsFetchedTwice(SessionKind kind) {
    Output x = floats("x", 2);
    Output y = node("y", "Neg", x);
    try (Session s = open(kind)) {
      Map<Output, Tensor> feeds = Map.of(x, kept(Tensor.vector(1f, 2f)));
      List<Tensor> r = s.run(feeds, List.of(y, y), List.of());
      assertNotSame(r.get(0), r.get(1));
      r.get(0).close();
      assertArrayEquals(new float[] {-1, -2}, kept(r.get(1)).toFloats());
    }
  }

  @EveryKind
  void allOutputsOfANodeAreFetched(SessionKind kind) {
    Output x = floats("x", 4);
    List<Output> halves = Split.of(scope, x, 2, 0);
    try (Session s = open(kind)) {
      Map<Output, Tensor> feeds = Map.of(x, kept(Tensor.vector(1f, 2f, 3f, 4f)));
      List<Tensor> r = kept(s.run(feeds, halves, List.of()));
      assertArrayEquals(new float[] {1, 2}, r.get(0).toFloats());
      assertArrayEquals(new float[] {3, 4}, r.get(1).toFloats());
    }
  }

  @EveryKind
  void stringsAreFetched(SessionKind kind) {
    Output a = Const.of(scope, Tensor.vector("one", "", "two"));
    try (Session s = open(kind)) {
      assertArrayEquals(
          new String[] {"one", "", "two"}, fetch(s, Identity.of(scope, a)).toStrings());
    }
  }

  @EveryKind
  void aVariableIsFetched(SessionKind kind) {
    Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.of(2));
    Node init = Assign.of(scope, v, Const.of(scope, Tensor.vector(1f, 2f)));
    try (Session s = open(kind)) {
      run(s, init);
      assertArrayEquals(new float[] {1, 2}, fetch(s, v).toFloats());
    }
  }

  @EveryKind
  void whatWasFetchedDoesNotChangeWithTheVariable(SessionKind kind) {
    Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.of(2));
    Node one = Assign.of(scope, v, Const.of(scope, Tensor.vector(1f, 1f)));
    Node two = Assign.of(scope, v, Const.of(scope, Tensor.vector(2f, 2f)));
    try (Session s = open(kind)) {
      run(s, one);
      Tensor before = fetch(s, v);
      run(s, two);
      assertArrayEquals(new float[] {1, 1}, before.toFloats());
    }
  }

  @EveryKind
  void targetsRunWithoutFetches(SessionKind kind) {
    Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.scalar());
    Node init = Assign.of(scope, v, Const.of(scope, 7f));
    try (Session s = open(kind)) {
      assertEquals(List.of(), s.run(Map.of(), List.of(), List.of(init)));
      assertEquals(7, fetch(s, v).floatValue());
    }
  }

  @EveryKind
  void targetsRunBesideFetches(SessionKind kind) {
    Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.scalar());
    Node init = Assign.of(scope, v, Const.of(scope, 7f));
    Output a = Const.of(scope, 1f);
    try (Session s = open(kind)) {
      assertEquals(1, kept(s.run(Map.of(), List.of(a), List.of(init))).getFirst().floatValue());
      assertEquals(7, fetch(s, v).floatValue());
    }
  }

  @EveryKind
  void targetsTakeFeeds(SessionKind kind) {
    Output x = floats("x");
    Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.scalar());
    Node set = Assign.of(scope, v, x);
    try (Session s = open(kind)) {
      s.run(Map.of(x, kept(Tensor.scalar(3f))), set);
      assertEquals(3, fetch(s, v).floatValue());
    }
  }

  @EveryKind
  void aRunOfNothingIsRefused(SessionKind kind) {
    Output x = floats("x");
    String words = "Must specify at least one target to fetch or execute.";
    try (Session s = open(kind)) {
      refused(INVALID, words, () -> s.run(Map.of(), List.of(), List.of()));
      refused(
          INVALID, words, () -> s.run(Map.of(x, kept(Tensor.scalar(1f))), List.of(), List.of()));
      refused(INVALID, words, () -> s.makeCallable(List.of(), List.of(), List.of()));
    }
  }

  @EveryKind
  void aFedOutputIsNotFetched(SessionKind kind) {
    Output x = floats("x");
    try (Session s = open(kind)) {
      refused(INVALID, "x:0 is both fed and fetched.", () -> fetch(s, x, x, Tensor.scalar(1f)));
    }
  }

  @EveryKind
  void anOutputOfAnotherGraphIsNotFetched(SessionKind kind) {
    Const.of(scope.withName("same"), 1f);
    Output stranger = Const.of(Scope.of(StandardOps.newGraph()).withName("same"), 2f);
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "'same' belongs to another graph than the one this session runs.",
          () -> fetch(s, stranger));
    }
  }

  @EveryKind
  void aNodeOfAnotherGraphIsNoTarget(SessionKind kind) {
    Output stranger = Const.of(Scope.of(StandardOps.newGraph()).withName("stranger"), 2f);
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "'stranger' belongs to another graph than the one this session runs.",
          () -> s.run(stranger.node()));
    }
  }

  @EveryKind
  void nullIsNotFetched(SessionKind kind) {
    try (Session s = open(kind)) {
      refused(INVALID, "The output to fetch is null; there must be one.", () -> s.fetch(null));
      refused(
          INVALID,
          "Number 0 of the 1 targets is null, counted from 0.",
          () -> s.run(Map.of(), List.of(), Arrays.asList((Node) null)));
      refused(
          INVALID,
          "The list of fetches is null; for none, give an empty one.",
          () -> s.run(Map.of(), null, List.of()));
    }
  }

  @EveryKind
  void anOutputThatANodeDoesNotHaveIsNamed(SessionKind kind) {
    Output a = Const.of(scope.withName("a"), 1f);
    try (Session s = open(kind)) {
      fetch(s, a);
      refused(
          INVALID,
          "Const 'a' has 1 outputs; there is no output 1.",
          () -> fetch(s, a.node().output(1)));
    }
  }

  @EveryKind
  void aDeadValueIsNotFetched(SessionKind kind) {
    Output x = floats("x");
    Output p = placeholder("p", DType.BOOL, Shape.scalar());
    Node way = scope.withName("way").node("Switch").input(x).input(p).add();
    try (Session s = open(kind)) {
      Map<Output, Tensor> feeds = Map.of(x, kept(Tensor.scalar(1f)), p, kept(Tensor.scalar(true)));
      assertEquals(1, kept(s.fetch(way.output(1), feeds)).floatValue());
      refused(
          INVALID,
          "The fetched tensor 'way:0' has no value: it lies on a branch that was not taken.",
          () -> s.fetch(way.output(0), feeds));
    }
  }

  @EveryKind
  void aHandleOfAResourceIsFetchedAndFed(SessionKind kind) {
    Output handle = VarHandle.of(scope.withName("h"), DType.FLOAT, Shape.scalar());
    Node init = AssignVariable.of(scope, handle, Const.of(scope, 4f));
    Output read = ReadVariable.of(scope, handle, DType.FLOAT);
    try (Session s = open(kind)) {
      run(s, init);
      Tensor h = fetch(s, handle);
      assertEquals(DType.RESOURCE, h.dtype());
      assertEquals(4, kept(s.fetch(read, Map.of(handle, h))).floatValue());
    }
  }

  @EveryKind
  void aTracedStepHasTheSameResult(SessionKind kind) {
    Output x = floats("x", 2);
    Output y = Arithmetic.mul(scope.withName("y"), x, node("z", "Exp", x));
    try (Session s = open(kind)) {
      Map<Output, Tensor> feeds = Map.of(x, kept(Tensor.vector(0f, 1f)));
      float[] untraced = kept(s.fetch(y, feeds)).toFloats();
      StepTrace trace = new StepTrace();
      RunOptions traced = RunOptions.DEFAULT.withTrace(trace);
      Tensor r = kept(s.run(feeds, List.of(y), List.of(), traced)).getFirst();
      assertArrayEquals(untraced, r.toFloats());
      List<String> ran = trace.entries().stream().map(StepTrace.Entry::node).toList();
      assertTrue(ran.containsAll(List.of("y", "z")), ran::toString);
    }
  }

  @EveryKind
  void aTraceSaysWhatRanWhere(SessionKind kind) {
    Output x = floats("x", 2);
    Output y = node("y", "Exp", x);
    try (Session s = open(kind)) {
      StepTrace trace = new StepTrace();
      s.run(
              Map.of(x, kept(Tensor.vector(0f, 1f))),
              List.of(y),
              List.of(),
              RunOptions.DEFAULT.withTrace(trace))
          .forEach(this::kept);
      StepTrace.Entry e =
          trace.entries().stream().filter(t -> t.node().equals("y")).findFirst().get();
      assertEquals("Exp", e.op());
      assertEquals("TASK/device:CPU:0", normalized(e.device()));
      assertTrue(e.durationNanos() >= 0, e::toString);
      assertTrue(e.startNanos() > 1_500_000_000_000_000_000L, "it counts since the epoch: " + e);
      assertTrue(trace.toChromeTrace().contains("\"name\":\"Exp\""), trace::toChromeTrace);
    }
  }

  @EveryKind
  void aTracedStepThatFailsSaysTheSame(SessionKind kind) {
    Output x = placeholder("x", DType.INT32, Shape.scalar());
    Output y = Arithmetic.floorDiv(scope.withName("y"), Const.of(scope, 1), x);
    try (Session s = open(kind)) {
      RunOptions traced = RunOptions.DEFAULT.withTrace(new StepTrace());
      refused(
          Code.INVALID_ARGUMENT,
          "Integer division by zero\n\t [[{{node y}}]]",
          () -> s.run(Map.of(x, kept(Tensor.scalar(0))), List.of(y), List.of(), traced));
    }
  }
}
