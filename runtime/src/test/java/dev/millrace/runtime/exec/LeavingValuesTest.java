package dev.millrace.runtime.exec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.Resources;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A value that is made to be sent, and for nothing else, is made where the rendezvous has room. */
class LeavingValuesTest {
  private final Graph graph = StandardOps.newGraph();
  private final Scope scope = Scope.of(graph).withDevice("/job:a/replica:0/task:0/device:CPU:0");
  private final Output a = Const.of(scope, Tensor.of(Shape.of(1, 2), new float[] {2, 3}));
  private final Output b = Const.of(scope, Tensor.of(Shape.of(2, 1), new float[] {5, 7}));

  /** Has room for everything and keeps what is sent. */
  private static final class Roomy implements Rendezvous, AutoCloseable {
    final List<Tensor> rooms = new ArrayList<>();
    final Map<String, Tensor> sent = new HashMap<>();

    @Override
    public Tensor room(Key key, DType dtype, Shape shape) {
      rooms.add(Refs.allocate(dtype, shape));
      return rooms.getLast();
    }

    @Override
    public void send(Key key, Tensor value, boolean dead) {
      sent.put(key.tensorName(), value);
    }

    @Override
    public void recv(Key key, Receiver receiver) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void abort(MillraceException cause) {}

    @Override
    public void close() {
      sent.values().forEach(Refs::release);
    }
  }

  private Output product() {
    return scope.node("MatMul").input(a).input(b).add().output();
  }

  private void send(Output value, String name) {
    scope
        .node("_Send")
        .input(value)
        .attr("tensor_name", name)
        .attr("send_device", "/job:a/replica:0/task:0/device:CPU:0")
        .attr("send_device_incarnation", 1L)
        .attr("recv_device", "/job:b/replica:0/task:0/device:CPU:0")
        .add();
  }

  private Roomy run() {
    Roomy rendezvous = new Roomy();
    Step step =
        new Step(1, rendezvous, new Cancellation(), new Tensor[0], 0, null, null, Timers.system());
    StepRun.run(new CompiledGraph(graph), step, new Resources());
    assertNull(step.failure());
    rendezvous.sent.values().forEach(t -> assertEquals(31, Math.abs(t.floatValue())));
    return rendezvous;
  }

  @Test
  void aValueThatIsSentIsMadeThere() {
    send(product(), "plain");
    Output through = scope.node("Identity").input(product()).add().output();
    send(scope.node("Identity").input(through).add().output(), "through Identity");
    try (Roomy r = run()) {
      assertEquals(2, r.rooms.size());
      assertEquals(
          r.rooms.stream().map(t -> t.data().address()).sorted().toList(),
          r.sent.values().stream().map(t -> t.data().address()).sorted().toList());
    }
  }

  @Test
  void aValueThatOthersReadTooIsNot() {
    Output both = product();
    send(both, "sent");
    send(both, "sent again");
    Output read = product();
    send(read, "also read");
    send(scope.node("Neg").input(read).add().output(), "by this");
    try (Roomy r = run()) {
      assertEquals(4, r.sent.size());
      // Only the negated value is for one receiver alone.
      assertEquals(1, r.rooms.size());
    }
  }
}
