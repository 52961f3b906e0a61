package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.MatMul;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.runtime.trace.StepTrace;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Several devices in one process. */
class LocalDevicesTest {
  private static final String DEVICE = "/job:localhost/replica:0/task:0/device:CPU:";

  private final Scope scope = Scope.of(StandardOps.newGraph());

  /** One step of gradient descent of {@code x w}, a part of the batch on each device. */
  private float[] towers(int count, StepTrace trace, PrintStream log) {
    Scope first = scope.withDevice("/cpu:0");
    Output w = VariableV2.of(first.withName("w"), DType.FLOAT, Shape.of(2, 1));
    Node start = Assign.of(first, w, Const.of(first, Tensor.of(Shape.of(2, 1), 1f, 2f)));
    Output x = Placeholder.of(first.withName("x"), DType.FLOAT, Shape.of(2, 2));
    List<Output> gradients = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Scope tower = scope.withSubScope("tower" + i).withDevice("/cpu:" + i);
      Output y = MatMul.of(tower, Arithmetic.scaled(tower, x, i + 1), w);
      var dw = Gradients.of(tower, List.of(y), List.of(w)).getFirst();
      gradients.add(Gradients.dense(tower, dw));
    }
    Output sum = first.node("AddN").inputs(gradients).add().output();
    Node update =
        first.node("ApplyGradientDescent").input(w).input(Const.of(first, 0.5f)).input(sum).add();
    SessionOptions options = SessionOptions.DEFAULT.withCpuDevices(count).withPlacementLog(log);
    try (LocalSession session = new LocalSession(scope.graph(), options)) {
      session.run(start);
      Map<Output, Tensor> feeds = Map.of(x, Tensor.of(Shape.of(2, 2), 1f, 2f, 3f, 4f));
      session.run(feeds, List.of(), List.of(update), RunOptions.DEFAULT.withTrace(trace));
      return session.fetch(w).toFloats();
    }
  }

  @Test
  void towersOnSeveralDevicesTrainOneVariable() {
    StepTrace trace = new StepTrace();
    ByteArrayOutputStream log = new ByteArrayOutputStream();
    float[] w = towers(3, trace, new PrintStream(log));
    // dw of tower i is (i + 1) times the sums of x's columns, 4 and 6.
    assertArrayEquals(new float[] {1 - 0.5f * 24, 2 - 0.5f * 36}, w);
    TreeSet<String> used = new TreeSet<>();
    trace.entries().forEach(e -> used.add(e.device()));
    assertEquals(List.of(DEVICE + 0, DEVICE + 1, DEVICE + 2), List.copyOf(used));
    List<String> lines = log.toString().lines().toList();
    assertTrue(lines.contains("w: (VariableV2): " + DEVICE + 0), lines::toString);
    assertTrue(lines.contains("tower2/MatMul: (MatMul): " + DEVICE + 2), lines::toString);
  }

  @Test
  void aTraceShowsDevicesAsProcesses() {
    StepTrace trace = new StepTrace();
    towers(2, trace, null);
    String json = trace.toChromeTrace();
    assertTrue(json.startsWith("{") && json.endsWith("]}"), json);
    assertTrue(json.contains("\"name\":\"process_name\",\"pid\":1"), json);
    assertTrue(json.contains("\"args\":{\"name\":\"" + DEVICE + "1\"}"), json);
    assertTrue(json.contains("\"name\":\"MatMul\",\"pid\":"), json);
    assertTrue(json.matches("(?s).*\"ts\":[0-9]{16}\\.[0-9]{3},\"dur\":[0-9]+\\.[0-9]{3}.*"), json);
  }
}
