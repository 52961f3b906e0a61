package dev.millrace.runtime.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.runtime.device.Device;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What takes a reference or a resource goes where that is. */
class PlacerTest {
  private static final String PS = "/job:ps/replica:0/task:0/device:CPU:0";
  private static final String OTHER_PS = "/job:ps/replica:0/task:1/device:CPU:0";
  private static final String WORKER = "/job:worker/replica:0/task:0/device:CPU:0";

  private final Scope scope = Scope.of(StandardOps.newGraph());
  private final Scope ps = scope.withDevice("/job:ps/task:0");
  private final Scope worker = scope.withDevice("/job:worker");

  private Map<Node, String> place() {
    List<Device> devices = Stream.of(PS, OTHER_PS, WORKER).map(d -> Device.remote(d, 1)).toList();
    return Placer.place(scope.graph(), devices, false, Map.of());
  }

  private Output variable(Scope at, String name) {
    return at.withName(name)
        .node("VarHandleOp")
        .attr("dtype", DType.FLOAT)
        .attr("shape", Shape.scalar())
        .attr("shared_name", name)
        .add()
        .output();
  }

  @Test
  void aReaderOfAResourceFollowsIt() {
    Output v = variable(ps, "v");
    Node read = worker.node("ReadVariableOp").input(v).attr("dtype", DType.FLOAT).add();
    Node known = worker.node("VarIsInitializedOp").input(v).add();
    Node through = worker.node("Identity").input(v).add();
    Node later =
        worker.node("ReadVariableOp").input(through.output()).attr("dtype", DType.FLOAT).add();
    Node value = worker.node("Neg").input(read.output()).add();
    Map<Node, String> placed = place();
    for (Node n : List.of(read, known, through, later)) {
      assertEquals(PS, placed.get(n), n::name);
    }
    assertEquals(WORKER, placed.get(value));
  }

  @Test
  void anUpdateOfAReferenceFollowsItAndAReaderDoesNot() {
    Output v = VariableV2.of(ps, DType.FLOAT, Shape.scalar());
    Node update = worker.node("AssignAdd").input(v).input(Const.of(worker, 1f)).add();
    Node read = Identity.of(worker, v).node();
    Map<Node, String> placed = place();
    assertEquals(PS, placed.get(update));
    assertEquals(WORKER, placed.get(read));
  }

  @Test
  void whatTakesResourcesOfTwoTasksHasNoPlace() {
    Output v = variable(ps, "v");
    Output w = variable(scope.withDevice("/job:ps/task:1"), "w");
    worker.node("IdentityN").inputs(List.of(v, w)).add();
    MillraceException e = assertThrows(MillraceException.class, this::place);
    assertTrue(e.getMessage().startsWith("Cannot colocate nodes"), e::getMessage);
  }
}
