package dev.millrace.tensor.math.elementwise;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;

/** Functions of complex elements, one after the other: programs spend little time in them. */
final class ComplexLoop {
  private static final long GRAIN = 1 << 12;

  private ComplexLoop() {}

  static void unary(UnaryOperator<Complex> f, Tensor x, Tensor out) {
    DType type = x.dtype();
    MemorySegment from = x.data();
    MemorySegment to = out.data();
    Parallel.run(
        out.elements(),
        GRAIN,
        (first, last) -> {
          for (long i = first; i < last; i++) {
            Complex v = f.apply(ComplexElements.at(type, from, i));
            ComplexElements.set(type, to, i, v);
          }
        });
    Reference.reachabilityFence(x);
    Reference.reachabilityFence(out);
  }

  static void binary(BinaryOperator<Complex> f, Tensor x, Tensor y, Tensor out) {
    DType type = x.dtype();
    BroadcastIndex left = new BroadcastIndex(x.shape(), out.shape());
    BroadcastIndex right = new BroadcastIndex(y.shape(), out.shape());
    MemorySegment a = x.data();
    MemorySegment b = y.data();
    MemorySegment to = out.data();
    Parallel.run(
        out.elements(),
        GRAIN,
        (first, last) -> {
          for (long i = first; i < last; i++) {
            Complex u = ComplexElements.at(type, a, left.of(i));
            Complex v = ComplexElements.at(type, b, right.of(i));
            ComplexElements.set(type, to, i, f.apply(u, v));
          }
        });
    Reference.reachabilityFence(x);
    Reference.reachabilityFence(y);
    Reference.reachabilityFence(out);
  }

  /** Where both parts of two elements are equal if {@code wanted}, or any is not. */
  static void equal(boolean wanted, Tensor x, Tensor y, Tensor out) {
    DType type = x.dtype();
    BroadcastIndex left = new BroadcastIndex(x.shape(), out.shape());
    BroadcastIndex right = new BroadcastIndex(y.shape(), out.shape());
    for (long i = 0; i < out.elements(); i++) {
      Complex u = ComplexElements.at(type, x.data(), left.of(i));
      Complex v = ComplexElements.at(type, y.data(), right.of(i));
      boolean same = u.re() == v.re() && u.im() == v.im();
      out.setLong(i, same == wanted ? 1 : 0);
    }
  }
}
