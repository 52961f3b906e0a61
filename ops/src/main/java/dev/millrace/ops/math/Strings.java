package dev.millrace.ops.math;

import dev.millrace.graph.KernelContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.Arrays;

/** What addition means for strings. */
final class Strings {
  private Strings() {}

  /** Each string of input 0 followed by its counterpart of input 1. */
  static void join(KernelContext c) {
    Shape s = Shape.broadcast(c.input(0).shape(), c.input(1).shape());
    Object[] x = spread(c.input(0), s).objects();
    Object[] y = spread(c.input(1), s).objects();
    Object[] z = new Object[x.length];
    for (int i = 0; i < z.length; i++) {
      byte[] a = (byte[]) x[i];
      byte[] b = (byte[]) y[i];
      byte[] both = Arrays.copyOf(a, a.length + b.length);
      System.arraycopy(b, 0, both, a.length, b.length);
      z[i] = both;
    }
    c.output(0, Refs.ofObjects(DType.STRING, s, z));
  }

  private static Tensor spread(Tensor t, Shape s) {
    Tensor all = Refs.allocate(t.dtype(), s);
    StridedCopy.copy(
        s.dims(),
        t,
        0,
        StridedCopy.broadcast(t.shape(), s),
        all,
        0,
        StridedCopy.rowMajor(s.dims()));
    return all;
  }
}
