package dev.millrace.ops.queue;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Many elements as one tensor per component, and back. */
final class Batch {
  private Batch() {}

  /** The {@code n} elements of which these are the components, stacked. Copies. */
  static List<Tensor[]> split(Tensor[] stacked, long n) {
    List<Tensor[]> elements = new ArrayList<>();
    for (long k = 0; k < n; k++) {
      Tensor[] e = new Tensor[stacked.length];
      for (int i = 0; i < e.length; i++) {
        Shape s = stacked[i].shape();
        e[i] = Refs.allocate(stacked[i].dtype(), s.slice(1, s.rank()));
        long length = e[i].elements();
        StridedCopy.copyRun(stacked[i], k * length, e[i], 0, length);
      }
      elements.add(e);
    }
    return elements;
  }

  /**
   * Component {@code i} of all elements, stacked. Where the queue leaves dimensions open, each is
   * as long as the longest, and the others are filled up with zeros or empty strings.
   */
  static Tensor stack(QueueSpec spec, int i, List<Tensor[]> elements) {
    Shape declared = spec.shapes().get(i);
    long[] dims = declared.dims();
    if (!declared.isKnown()) {
      for (int d = 0; d < dims.length; d++) {
        for (Tensor[] e : elements) {
          dims[d] = Math.max(dims[d], e[i].shape().dim(d));
        }
        dims[d] = Math.max(dims[d], 0);
      }
    }
    Shape shape = Shape.of(dims);
    Tensor all = Refs.allocate(spec.types().get(i), Shape.of(elements.size()).concat(shape));
    if (!declared.isKnown()) {
      clear(all);
    }
    long[] strides = StridedCopy.rowMajor(dims);
    for (int k = 0; k < elements.size(); k++) {
      Tensor e = elements.get(k)[i];
      long at = k * shape.elements();
      if (e.shape().equals(shape)) {
        StridedCopy.copyRun(e, 0, all, at, e.elements());
      } else {
        long[] own = e.shape().dims();
        StridedCopy.copy(own, e, 0, StridedCopy.rowMajor(own), all, at, strides);
      }
    }
    return all;
  }

  private static void clear(Tensor t) {
    if (t.dtype().isPlain()) {
      t.data().fill((byte) 0);
    } else if (t.dtype() == DType.STRING) {
      Arrays.fill(t.objects(), new byte[0]);
    }
  }
}
