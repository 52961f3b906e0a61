package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.MatMul;
import dev.millrace.ops.nn.Activations;
import dev.millrace.ops.nn.BiasAdd;
import dev.millrace.ops.nn.CrossEntropy;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.testkit.MeasuresHeap;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a training step leaves to the allocators, natively and on the heap. */
@MeasuresHeap
class StepAllocationTest {
  private static final int STEPS = 500;

  /** Some objects per node: a collection of the young generation every hundred thousand steps. */
  private static final long FEW_BYTES = 20_000;

  private static final long PATIENCE_NANOS = 60_000_000_000L;

  private final Scope scope = Scope.of(StandardOps.newGraph());
  private final List<Output> variables = new ArrayList<>();
  private final List<Node> starts = new ArrayList<>();

  private Output variable(long... dims) {
    Shape shape = Shape.of(dims);
    Output v = VariableV2.of(scope, DType.FLOAT, shape);
    float[] values = new float[(int) shape.elements()];
    for (int i = 0; i < values.length; i++) {
      values[i] = (i % 17 - 8) * 0.01f;
    }
    starts.add(Assign.of(scope, v, Const.of(scope, Tensor.of(shape, values))));
    variables.add(v);
    return v;
  }

  private Output dense(Output x, int inputs, int units) {
    return BiasAdd.of(scope, MatMul.of(scope, x, variable(inputs, units)), variable(units));
  }

  @Test
  void aWarmStepTakesNoNativeMemoryAndNextToNoHeap() {
    Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(32, 64));
    Output labels = Placeholder.of(scope, DType.INT64, Shape.of(32));
    Output hidden = Activations.relu(scope, dense(x, 64, 32));
    Output loss = CrossEntropy.sparse(scope, dense(hidden, 32, 10), labels);
    List<Node> updates = new ArrayList<>();
    var gradients = Gradients.of(scope, List.of(loss), variables);
    for (int i = 0; i < variables.size(); i++) {
      Output dv = Gradients.dense(scope, gradients.get(i));
      Output rate = Const.of(scope, 0.01f);
      var update = scope.node("ApplyGradientDescent").input(variables.get(i));
      updates.add(update.input(rate).input(dv).add());
    }
    Tensor[] feeds = {
      Tensor.of(Shape.of(32, 64), new float[32 * 64]), Tensor.of(Shape.of(32), new long[32])
    };
    ThreadMXBean thread = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    try (LocalSession session = new LocalSession(scope.graph())) {
      session.run(starts.toArray(Node[]::new));
      Session.Callable step = session.makeCallable(List.of(x, labels), List.of(loss), updates);
      run(step, feeds);
      long taken = BufferPool.current().nativeAllocations();
      long deadline = System.nanoTime() + PATIENCE_NANOS;
      long perStep;
      // Loops allocate until they are compiled, which takes its time on a busy machine.
      do {
        long before = thread.getCurrentThreadAllocatedBytes();
        run(step, feeds);
        perStep = (thread.getCurrentThreadAllocatedBytes() - before) / STEPS;
      } while (perStep > FEW_BYTES && System.nanoTime() < deadline);
      assertEquals(taken, BufferPool.current().nativeAllocations(), "buffers from the system");
      long heap = perStep;
      assertTrue(heap <= FEW_BYTES, () -> "a step takes " + heap + " bytes of heap");
    }
  }

  private static void run(Session.Callable step, Tensor[] feeds) {
    for (int i = 0; i < STEPS; i++) {
      for (Tensor t : step.run(feeds)) {
        t.close();
      }
    }
  }
}
