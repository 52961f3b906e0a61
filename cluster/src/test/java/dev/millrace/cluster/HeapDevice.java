package dev.millrace.cluster;

import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.runtime.device.DeviceKind;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.DeviceMemory;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * A device of kind {@code TEST} whose memory is Java arrays, which no host kernel can read. It has
 * one kernel, and counts. A server has none of them unless its configuration asks for it.
 */
public final class HeapDevice implements DeviceKind {
  /** Over all devices of this process. */
  static final AtomicInteger ALLOCATED = new AtomicInteger();

  static final AtomicInteger LIVE = new AtomicInteger();
  static final AtomicInteger SQUARES = new AtomicInteger();

  private static final class HeapMemory implements DeviceMemory {
    @Override
    public Tensor allocate(DType dtype, Shape shape) {
      if (!dtype.isPlain()) {
        return HOST.allocate(dtype, shape);
      }
      ALLOCATED.incrementAndGet();
      LIVE.incrementAndGet();
      double[] elements = new double[Math.toIntExact(shape.elements())];
      return Refs.onDevice(dtype, shape, elements, LIVE::decrementAndGet);
    }

    @Override
    public Tensor toHost(Tensor value) {
      if (!value.dtype().isPlain()) {
        return HOST.toHost(value);
      }
      double[] from = elements(value);
      Tensor t = HOST.allocate(value.dtype(), value.shape());
      for (int i = 0; i < from.length; i++) {
        t.setDouble(i, from[i]);
      }
      return t;
    }

    @Override
    public Tensor fromHost(Tensor value) {
      if (!value.dtype().isPlain()) {
        return value;
      }
      Tensor t = allocate(value.dtype(), value.shape());
      double[] to = elements(t);
      for (int i = 0; i < to.length; i++) {
        to[i] = value.doubleAt(i);
      }
      Refs.release(value);
      return t;
    }
  }

  private static double[] elements(Tensor t) {
    return (double[]) Refs.deviceMemory(t);
  }

  @Override
  public String name() {
    return "TEST";
  }

  @Override
  public int available() {
    return 0;
  }

  @Override
  public DeviceMemory open(int index) {
    return new HeapMemory();
  }

  @Override
  public Map<String, Function<Node, Kernel>> kernels() {
    return Map.of("Square", node -> HeapDevice::square);
  }

  private static void square(KernelContext c) {
    SQUARES.incrementAndGet();
    Tensor x = c.input(0);
    double[] from = elements(x);
    double[] to = elements(c.allocate(0, x.shape()));
    for (int i = 0; i < from.length; i++) {
      to[i] = from[i] * from[i];
    }
  }
}
