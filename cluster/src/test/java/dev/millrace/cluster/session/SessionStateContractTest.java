package dev.millrace.cluster.session;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.base.Code;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.flow.Conditional;
import dev.millrace.ops.flow.WhileLoop;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.AssignAdd;
import dev.millrace.ops.state.AssignVariable;
import dev.millrace.ops.state.ReadVariable;
import dev.millrace.ops.state.VarHandle;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/** State between steps, control flow, errors of kernels, placement, and a graph that grows. */
class SessionStateContractTest extends SessionContract {
  private static final String MISSING_DEVICE =
      "Cannot assign a device for operation far: {{node far}} was explicitly assigned to"
          + " /job:ps/task:3 but available devices are [ TASK/device:CPU:0 ]. Make sure the device"
          + " specification refers to a valid device.";

  @EveryKind
  void aVariableKeepsItsValueBetweenSteps(SessionKind kind) {
    Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.scalar());
    Node init = Assign.of(scope, v, Const.of(scope, 1f));
    Node more = AssignAdd.of(scope, v, Const.of(scope, 2f));
    try (Session s = open(kind)) {
      run(s, init);
      run(s, more);
      run(s, more);
      assertEquals(5, fetch(s, Identity.of(scope, v)).floatValue());
    }
  }

  @EveryKind
  void aResourceVariableKeepsItsValueBetweenSteps(SessionKind kind) {
    Output handle = VarHandle.of(scope.withName("h"), DType.FLOAT, Shape.scalar());
    Node init = AssignVariable.of(scope, handle, Const.of(scope, 4f));
    Output read = ReadVariable.of(scope, handle, DType.FLOAT);
    try (Session s = open(kind)) {
      run(s, init);
      assertEquals(4, fetch(s, read).floatValue());
    }
  }

  @EveryKind
  void anUninitializedVariableIsNamed(SessionKind kind) {
    Output v = VariableV2.of(scope.withName("w"), DType.FLOAT, Shape.of(2));
    Output read = Identity.of(scope.withName("w/read"), v);
    try (Session s = open(kind)) {
      refused(
          Code.FAILED_PRECONDITION,
          "Attempting to use uninitialized value w\n\t [[{{node w/read}}]]",
          () -> fetch(s, read));
    }
  }

  @EveryKind
  void aFailedStepLeavesTheSessionUsable(SessionKind kind) {
    Output v = VariableV2.of(scope.withName("w"), DType.FLOAT, Shape.scalar());
    Output read = Identity.of(scope.withName("read"), v);
    Node init = Assign.of(scope, v, Const.of(scope, 1f));
    try (Session s = open(kind)) {
      for (int i = 0; i < 3; i++) {
        refused(
            Code.FAILED_PRECONDITION,
            "Attempting to use uninitialized value w\n\t [[{{node read}}]]",
            () -> fetch(s, read));
      }
      run(s, init);
      assertEquals(1, fetch(s, read).floatValue());
    }
  }

  @EveryKind
  void anErrorOfAKernelNamesItsNode(SessionKind kind) {
    Output a = floats("a", -1, -1);
    Output y = node("y", "MatMul", a, a);
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "inner dimensions differ: a is [2,3], b is [2,3]. Need a[1] == b[0]; they agree with"
              + " transpose_b=true.\n\t [[{{node y}}]]",
          () -> fetch(s, y, a, Tensor.of(Shape.of(2, 3), new float[6])));
    }
  }

  @EveryKind
  void aDivisionByZeroIsNamed(SessionKind kind) {
    Output x = placeholder("x", DType.INT32, Shape.scalar());
    Output y = Arithmetic.floorDiv(scope.withName("y"), Const.of(scope, 7), x);
    try (Session s = open(kind)) {
      assertEquals(3, fetch(s, y, x, Tensor.scalar(2)).intValue());
      refused(
          INVALID,
          "Integer division by zero\n\t [[{{node y}}]]",
          () -> fetch(s, y, x, Tensor.scalar(0)));
    }
  }

  @EveryKind
  void anOpWithoutKernelIsNamed(SessionKind kind) {
    Output y = scope.withName("y").node(NO_KERNEL).add().output();
    Output fine = Const.of(scope, 1f);
    try (Session s = open(kind)) {
      for (int i = 0; i < 2; i++) {
        refused(
            Code.UNIMPLEMENTED,
            "NoKernel 'y' has no kernel here.\n\t [[{{node y}}]]",
            () -> fetch(s, y));
      }
      assertEquals(1, fetch(s, fine).floatValue());
    }
  }

  @EveryKind
  void controlInputsRunFirst(SessionKind kind) {
    Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.scalar());
    Node init = Assign.of(scope, v, Const.of(scope, 1f));
    Node set = Assign.of(scope, v, Const.of(scope, 9f));
    Output after =
        scope.withControlInputs(set).withName("after").node("Identity").input(v).add().output();
    try (Session s = open(kind)) {
      run(s, init);
      assertEquals(9, fetch(s, after).floatValue());
    }
  }

  @EveryKind
  void aLoopRunsWhileItsConditionHolds(SessionKind kind) {
    Output n = placeholder("n", DType.INT32, Shape.scalar());
    Output y =
        WhileLoop.of(
                scope,
                List.of(Const.of(scope, 0), Const.of(scope, 1f)),
                List.of(n),
                (s, v) -> Comparisons.less(s, v.get(0), v.get(2)),
                (s, v) ->
                    List.of(
                        Arithmetic.add(s, v.get(0), Const.of(s, 1)),
                        Arithmetic.scaled(s, v.get(1), 2)))
            .get(1);
    try (Session s = open(kind)) {
      assertEquals(1024, fetch(s, y, n, Tensor.scalar(10)).floatValue());
      assertEquals(1, fetch(s, y, n, Tensor.scalar(0)).floatValue());
    }
  }

  @EveryKind
  void anErrorInALoopNamesItsNode(SessionKind kind) {
    Output n = placeholder("n", DType.INT32, Shape.scalar());
    Output y =
        WhileLoop.of(
                scope,
                List.of(n),
                List.of(),
                (s, v) -> Comparisons.less(s, v.get(0), Const.of(s, 5)),
                (s, v) ->
                    List.of(
                        Arithmetic.add(
                            s,
                            v.get(0),
                            Arithmetic.floorDiv(
                                s.withName("quotient"),
                                Const.of(s, 4),
                                Arithmetic.sub(s, v.get(0), Const.of(s, 3))))))
            .getFirst();
    Node quotient =
        graph.nodes().stream().filter(t -> t.name().endsWith("quotient")).findFirst().get();
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "Integer division by zero\n\t [[{{node " + quotient.name() + "}}]]",
          () -> fetch(s, y, n, Tensor.scalar(3)));
    }
  }

  @EveryKind
  void theChosenBranchGivesTheValue(SessionKind kind) {
    Output p = placeholder("p", DType.BOOL, Shape.scalar());
    Output x = Const.of(scope, 5f);
    Output y =
        Conditional.of(
                scope,
                p,
                List.of(x),
                (s, in) -> List.of(Arithmetic.scaled(s, in.getFirst(), 3)),
                (s, in) -> List.of(s.node("Neg").input(in.getFirst()).add().output()))
            .getFirst();
    try (Session s = open(kind)) {
      assertEquals(15, fetch(s, y, p, Tensor.scalar(true)).floatValue());
      assertEquals(-5, fetch(s, y, p, Tensor.scalar(false)).floatValue());
    }
  }

  private Output queue(int capacity) {
    return scope
        .withName("queue")
        .node("FIFOQueueV2")
        .attr("component_types", List.of(DType.FLOAT))
        .attr("capacity", capacity)
        .add()
        .output();
  }

  @EveryKind
  void aQueueKeepsItsElementsBetweenSteps(SessionKind kind) {
    Output queue = queue(3);
    Output x = floats("x");
    Node put = QueueAccess.enqueue(scope, queue, List.of(x));
    Output taken = QueueAccess.dequeue(scope, queue, List.of(DType.FLOAT)).output(0);
    Output size = QueueAccess.size(scope, queue);
    try (Session s = open(kind)) {
      s.run(Map.of(x, kept(Tensor.scalar(1f))), put);
      s.run(Map.of(x, kept(Tensor.scalar(2f))), put);
      assertEquals(2, fetch(s, size).intValue());
      assertEquals(1, fetch(s, taken).floatValue());
      assertEquals(2, fetch(s, taken).floatValue());
    }
  }

  @EveryKind
  void aDequeueWaitsForAnElement(SessionKind kind) throws Throwable {
    Output queue = queue(3);
    Output x = floats("x");
    Node put = QueueAccess.enqueue(scope, queue, List.of(x));
    Output taken = QueueAccess.dequeue(scope, queue, List.of(DType.FLOAT)).output(0);
    try (Session s = open(kind)) {
      float[] got = new float[1];
      var end = inBackground(() -> got[0] = fetch(s, taken).floatValue(), null);
      s.run(Map.of(x, kept(Tensor.scalar(6f))), put);
      rethrowing(end).execute();
      assertEquals(6, got[0]);
    }
  }

  @EveryKind
  void aClosedQueueIsNamed(SessionKind kind) {
    Output queue = queue(3);
    Node close = QueueAccess.close(scope, queue, false);
    Output taken =
        QueueAccess.dequeue(scope.withName("taken"), queue, List.of(DType.FLOAT)).output(0);
    try (Session s = open(kind)) {
      run(s, close);
      refused(
          Code.OUT_OF_RANGE,
          "FIFOQueue 'queue' is closed and has insufficient elements (requested 1, current"
              + " size 0)\n\t [[{{node taken}}]]",
          () -> fetch(s, taken));
    }
  }

  @EveryKind
  void theGraphMayGrow(SessionKind kind) {
    Output a = Const.of(scope, 2f);
    try (Session s = open(kind)) {
      assertEquals(2, fetch(s, a).floatValue());
      Output b = node("b", "Square", a);
      assertEquals(4, fetch(s, b).floatValue());
      Output c = node("c", "Square", b);
      assertEquals(16, fetch(s, c).floatValue());
      assertEquals(2, fetch(s, a).floatValue());
    }
  }

  @EveryKind
  void aDeviceThatDoesNotExistIsNamed(SessionKind kind) {
    Output fine = Const.of(scope, 1f);
    Const.of(scope.withName("far").withDevice("/job:ps/task:3"), 1f);
    try (Session s = open(kind)) {
      // The whole graph is placed, so a step that needs none of it fails as well.
      refused(INVALID, MISSING_DEVICE, () -> fetch(s, fine));
      refused(INVALID, MISSING_DEVICE, () -> fetch(s, fine));
    }
  }

  @EveryKind
  void aNodeThatCannotBePlacedIsNamedWhenItIsAdded(SessionKind kind) {
    Output fine = Const.of(scope, 1f);
    try (Session s = open(kind)) {
      assertEquals(1, fetch(s, fine).floatValue());
      Output far = Const.of(scope.withName("far").withDevice("/job:ps/task:3"), 1f);
      for (int i = 0; i < 3; i++) {
        refused(INVALID, MISSING_DEVICE, () -> fetch(s, far));
      }
    }
  }

  @EveryKind
  void knownStepsRunOnThoughANodeCannotBePlaced(SessionKind kind) {
    Output fine = Const.of(scope, 1f);
    Output other = Const.of(scope, 2f);
    try (Session s = open(kind)) {
      assertEquals(1, fetch(s, fine).floatValue());
      Const.of(scope.withName("far").withDevice("/job:ps/task:3"), 1f);
      assertEquals(1, fetch(s, fine).floatValue());
      refused(INVALID, MISSING_DEVICE, () -> fetch(s, other));
    }
  }

  @EveryKind
  void aDeviceNumberThatDoesNotExistIsNamed(SessionKind kind) {
    Output y = Const.of(scope.withName("y").withDevice("/cpu:7"), 1f);
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "Cannot assign a device for operation y: {{node y}} was explicitly assigned to"
              + " /device:CPU:7 but available devices are [ TASK/device:CPU:0 ]. Make sure the"
              + " device specification refers to a valid device.",
          () -> fetch(s, y));
    }
  }

  @EveryKind
  void whatANodeShouldBeColocatedWithIsNamed(SessionKind kind) {
    Output y =
        scope
            .withName("y")
            .node("Identity")
            .input(Const.of(scope, 1f))
            .attr("_class", List.of("loc:@nowhere"))
            .add()
            .output();
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "Node 'y' expects to be colocated with unknown node 'nowhere'",
          () -> fetch(s, y));
    }
  }

  @EveryKind
  void anEmptyGraphGrowsIntoAStep(SessionKind kind) {
    Graph empty = graph;
    assertEquals(0, empty.size());
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "Must specify at least one target to fetch or execute.",
          () -> s.run(Map.of(), List.of(), List.of()));
      assertArrayEquals(
          new float[] {1, 2}, fetch(s, Const.of(scope, Tensor.vector(1f, 2f))).toFloats());
    }
  }
}
