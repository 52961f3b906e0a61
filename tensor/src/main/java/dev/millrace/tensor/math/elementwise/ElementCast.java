package dev.millrace.tensor.math.elementwise;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.Specialized;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Turns a tensor into one of another type, with TensorFlow's rules:
 *
 * <ul>
 *   <li>to a floating type: the nearest value, ties to even; sixteen-bit ones through float;
 *   <li>floating to integer: the fraction is cut off; NaN and values out of range become the
 *       smallest int32 (int64 for int64, uint32 and uint64), of which narrower types keep the low
 *       bits, as TensorFlow's code does on x86;
 *   <li>integer to integer: the low bits;
 *   <li>to bool: whether it is not 0; from bool: 0 or 1;
 *   <li>from complex: the real part; to complex: with an imaginary part of 0.
 * </ul>
 *
 * <p>Threading: large tensors are split over the threads of {@link Parallel}.
 */
public final class ElementCast {
  /** Converts elements {@code first} to {@code first + count}. */
  interface Loop {
    void run(MemorySegment x, MemorySegment y, long first, long count);
  }

  private static final long GRAIN = 1 << 15;

  /** Elements a loop is called with at most, so that a fresh one is compiled soon. */
  private static final long BLOCK = 4096;

  private static final int TYPES = 24;
  private static final AtomicReferenceArray<Loop> LOOPS =
      new AtomicReferenceArray<>(2 * TYPES * TYPES);

  private ElementCast() {}

  /** {@code out = x}, converted. The two may be the same memory if the types are equally long. */
  public static void run(Tensor x, Tensor out) {
    run(x, out, false);
  }

  /**
   * {@code out = x}, converted. With {@code truncate} a floating value that becomes a shorter one
   * loses the bits that do not fit instead of being rounded.
   */
  public static void run(Tensor x, Tensor out, boolean truncate) {
    if (x.dtype() == out.dtype()) {
      TensorFill.copy(x, out);
      return;
    }
    if (!x.dtype().isPlain() || !out.dtype().isPlain()) {
      throw new MillraceException(
          Code.UNIMPLEMENTED, "Cast from " + x.dtype() + " to " + out.dtype() + " is not defined.");
    }
    Loop loop = loop(x.dtype(), out.dtype(), truncate);
    MemorySegment from = x.data();
    MemorySegment to = out.data();
    Parallel.run(
        x.elements(),
        GRAIN,
        (a, b) -> {
          for (long i = a; i < b; i += BLOCK) {
            loop.run(from, to, i, Math.min(BLOCK, b - i));
          }
        });
    Reference.reachabilityFence(x);
    Reference.reachabilityFence(out);
  }

  private static Loop loop(DType from, DType to, boolean truncate) {
    int key = ((truncate ? TYPES : 0) + from.number()) * TYPES + to.number();
    Loop loop = LOOPS.get(key);
    if (loop == null) {
      loop =
          Specialized.copy(
              MethodHandles.lookup(),
              Loop.class,
              CastLoop.class,
              new CastLoop.Constants(from, to, truncate));
      LOOPS.set(key, loop);
    }
    return loop;
  }
}
