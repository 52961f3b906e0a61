package com.acme.extension;

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
 * A device whose memory is Java arrays, which no kernel of the host can read. It has one kernel, of
 * the op Square. There is none unless a program asks for it.
 */
public final class ArrayDevice implements DeviceKind {
  static final AtomicInteger SQUARES = new AtomicInteger();

  private static final class Arrays implements DeviceMemory {
    @Override
    public Tensor allocate(DType dtype, Shape shape) {
      return dtype == DType.FLOAT
          ? Refs.onDevice(dtype, shape, new float[(int) shape.elements()], () -> {})
          : HOST.allocate(dtype, shape);
    }

    @Override
    public Tensor toHost(Tensor value) {
      if (value.dtype() != DType.FLOAT) {
        return HOST.toHost(value);
      }
      float[] from = array(value);
      Tensor t = HOST.allocate(value.dtype(), value.shape());
      for (int i = 0; i < from.length; i++) {
        t.setDouble(i, from[i]);
      }
      return t;
    }

    @Override
    public Tensor fromHost(Tensor value) {
      if (value.dtype() != DType.FLOAT) {
        return value;
      }
      Tensor t = allocate(value.dtype(), value.shape());
      float[] to = array(t);
      for (int i = 0; i < to.length; i++) {
        to[i] = (float) value.doubleAt(i);
      }
      Refs.release(value);
      return t;
    }
  }

  private static float[] array(Tensor t) {
    return (float[]) Refs.deviceMemory(t);
  }

  @Override
  public String name() {
    return "ARRAY";
  }

  @Override
  public int available() {
    return 0;
  }

  @Override
  public DeviceMemory open(int index) {
    return new Arrays();
  }

  @Override
  public Map<String, Function<Node, Kernel>> kernels() {
    return Map.of("Square", node -> ArrayDevice::square);
  }

  private static void square(KernelContext c) {
    SQUARES.incrementAndGet();
    Tensor x = c.input(0);
    float[] from = array(x);
    float[] to = array(c.allocate(0, x.shape()));
    for (int i = 0; i < from.length; i++) {
      to[i] = from[i] * from[i];
    }
  }
}
