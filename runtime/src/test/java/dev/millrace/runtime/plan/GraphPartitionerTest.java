package dev.millrace.runtime.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** When the value of a variable of another task is read. */
class GraphPartitionerTest {
  private static final String PS = "/job:ps/replica:0/task:0";
  private static final String WORKER = "/job:worker/replica:0/task:0";

  private final Scope scope = Scope.of(StandardOps.newGraph());
  private final Scope ps = scope.withDevice(PS + "/device:CPU:0");
  private final Scope worker = scope.withDevice(WORKER + "/device:CPU:0");
  private final Output v = VariableV2.of(ps.withName("v"), DType.FLOAT, Shape.scalar());

  private Node update() {
    return ps.withName("update").node("AssignAdd").input(v).input(Const.of(ps, 1f)).add();
  }

  private Map<String, Graph> parts() {
    return GraphPartitioner.partition(
        scope.graph(), d -> DeviceSpec.parse(d).taskName(), d -> 1, "S");
  }

  /** The Send on the ps whose Recv gives input {@code i} of a node of the worker. */
  private static Node sendOf(Map<String, Graph> parts, String reader, int i) {
    Node recv = parts.get(WORKER).node(reader).input(i).node();
    return parts.get(PS).nodes().stream()
        .filter(n -> n.op().name().equals("_Send"))
        .filter(n -> n.stringAttr("tensor_name").equals(recv.stringAttr("tensor_name")))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aReferenceIsSentWhenAllElseItsReaderWaitsForHasRun() {
    Identity.of(worker.withName("read").withControlInputs(update()), v);
    Map<String, Graph> parts = parts();
    Node send = sendOf(parts, "read", 0);
    assertEquals(List.of(parts.get(PS).node("update")), send.controlInputs());
    assertSame(parts.get(PS).node("v"), send.input(0).node());
  }

  @Test
  void whatTheReaderWaitsForOnItsOwnTaskIsToldToTheSender() {
    Node before = worker.withName("before").node("NoOp").add();
    Identity.of(worker.withName("read").withControlInputs(before), v);
    Node send = sendOf(parts(), "read", 0);
    Node told = send.controlInputs().getFirst();
    assertEquals(1, send.controlInputs().size());
    assertEquals("Identity", told.op().name());
    assertEquals("_Recv", told.input(0).node().op().name());
    assertEquals(PS + "/device:CPU:0", told.input(0).node().stringAttr("recv_device"));
  }

  @Test
  void aValueThatTheReaderTakesAsWellComesFirst() {
    Output old = Identity.of(ps.withName("old"), update().output(0));
    Arithmetic.add(worker.withName("sum"), old, v);
    Map<String, Graph> parts = parts();
    assertEquals(List.of(parts.get(PS).node("old")), sendOf(parts, "sum", 1).controlInputs());
    assertEquals(List.of(), sendOf(parts, "sum", 0).controlInputs());
  }

  @Test
  void readersThatWaitForNothingAreServedAtOnceAndOthersByThemselves() {
    Identity.of(worker.withName("early"), v);
    Identity.of(worker.withName("late").withControlInputs(update()), v);
    Map<String, Graph> parts = parts();
    assertEquals(List.of(), sendOf(parts, "early", 0).controlInputs());
    assertEquals(1, sendOf(parts, "late", 0).controlInputs().size());
    assertNotSame(sendOf(parts, "early", 0), sendOf(parts, "late", 0));
  }

  @Test
  void aValueThatIsNoReferenceIsNotHeldBack() {
    Output value = Identity.of(ps.withName("value"), v);
    Identity.of(worker.withName("read").withControlInputs(update()), value);
    assertEquals(List.of(), sendOf(parts(), "read", 0).controlInputs());
  }
}
