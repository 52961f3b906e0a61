package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.OperatingSystemMXBean;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LargeTensorTest {
  private static final long ELEMENTS = (1L << 31) + 1000;

  @Test
  void aTensorOfMoreThanTwoGibibytesIsFedAndSliced() {
    var machine = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    assumeTrue(machine.getFreeMemorySize() > 8L << 30, "it needs 8 GiB of free memory");
    Scope scope = Scope.of(StandardOps.newGraph());
    Output x = Placeholder.of(scope, DType.UINT8, Shape.of(-1));
    Output same = Identity.of(scope, x);
    Output end =
        scope
            .node("Slice")
            .input(same)
            .input(Const.of(scope, Tensor.vector(ELEMENTS - 3)))
            .input(Const.of(scope, Tensor.vector(3L)))
            .add()
            .output();
    Tensor large = Tensor.allocate(DType.UINT8, Shape.of(ELEMENTS));
    try (Session session = new LocalSession(scope.graph())) {
      for (int i = 1; i <= 3; i++) {
        large.data().set(ValueLayout.JAVA_BYTE, ELEMENTS - i, (byte) i);
      }
      assertArrayEquals(new long[] {3, 2, 1}, session.fetch(end, Map.of(x, large)).toLongs());
      assertEquals(ELEMENTS, session.fetch(same, Map.of(x, large)).elements());
    } finally {
      large.close();
      BufferPool.current().trim();
    }
  }
}
