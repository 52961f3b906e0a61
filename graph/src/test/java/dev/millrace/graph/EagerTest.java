package dev.millrace.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** A node that is run on its own. */
class EagerTest {
  private static Node node(Kernel kernel) {
    Op op =
        Op.define("Sample")
            .output("y: float")
            .shape(c -> List.of(Shape.of(2)))
            .kernel(kernel)
            .noGradient("a test")
            .build();
    return Scope.of(new Graph(OpRegistry.of(List.of(op)))).node("Sample").add();
  }

  @Test
  void aKernelThatFailsLeavesNoOutputBehind() {
    AtomicReference<Buffer> memory = new AtomicReference<>();
    Node throwing =
        node(
            c -> {
              memory.set(Refs.buffer(c.allocate(0, Shape.of(2))));
              throw MillraceException.invalid("no");
            });
    assertThrows(MillraceException.class, () -> Eager.run(throwing));
    assertEquals(0, memory.get().references());
    Node failing =
        node(
            c -> {
              memory.set(Refs.buffer(c.allocate(0, Shape.of(2))));
              c.fail(MillraceException.invalid("no"));
            });
    assertThrows(MillraceException.class, () -> Eager.run(failing));
    assertEquals(0, memory.get().references());
  }

  @Test
  void theCallerOwnsTheOutputs() {
    Tensor[] outputs = Eager.run(node(c -> c.allocate(0, Shape.of(2)).setDouble(1, 7)));
    assertEquals(DType.FLOAT, outputs[0].dtype());
    assertEquals(7, outputs[0].doubleAt(1));
    Refs.releaseAll(outputs);
    assertEquals(0, Refs.buffer(outputs[0]).references());
  }
}
