package dev.millrace.tensor.math.elementwise;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/** Whole tensors of one value, and whole tensors of another's. */
public final class TensorFill {
  private static final Recipe REPEAT = Recipe.map(1, Formula.X);
  private static final long GRAIN = 1 << 20;

  private TensorFill() {}

  /** Sets every element to the only one of {@code value}, which has the same type. */
  public static void with(Tensor value, Tensor out) {
    if (!out.dtype().isPlain()) {
      Refs.copyObjects(value.objects(), 0, 0, out.objects(), 0, 1, out.elements());
      return;
    }
    LaneType lane = LaneType.ofBytes(out.dtype().bytes());
    if (lane != null) {
      Walk.run(out.shape(), REPEAT, lane, new double[0], value, out);
      return;
    }
    long bytes = value.byteSize();
    for (long i = 0; i < out.elements(); i++) {
      MemorySegment.copy(value.data(), 0, out.data(), i * bytes, bytes);
    }
    Reference.reachabilityFence(value);
    Reference.reachabilityFence(out);
  }

  /** Sets every element to 0. */
  public static void zero(Tensor out) {
    MemorySegment memory = out.data();
    Parallel.run(
        memory.byteSize(), GRAIN, (from, to) -> memory.asSlice(from, to - from).fill((byte) 0));
    Reference.reachabilityFence(out);
  }

  /** Sets element {@code j} of {@code out} to element {@code i} of {@code x}, of any type. */
  public static void copyElement(Tensor x, long i, Tensor out, long j) {
    if (x.dtype().isPlain()) {
      long bytes = x.dtype().bytes();
      MemorySegment.copy(x.data(), i * bytes, out.data(), j * bytes, bytes);
    } else {
      Refs.copyObjects(x.objects(), i, 1, out.objects(), j, 1, 1);
    }
  }

  /** Makes {@code out} equal to {@code x}, which has the same type and number of elements. */
  public static void copy(Tensor x, Tensor out) {
    if (!x.dtype().isPlain()) {
      Refs.copyObjects(x.objects(), 0, 1, out.objects(), 0, 1, x.objects().length);
      return;
    }
    MemorySegment from = x.data();
    MemorySegment to = out.data();
    if (from.address() != to.address()) {
      Parallel.run(from.byteSize(), GRAIN, (a, b) -> MemorySegment.copy(from, a, to, a, b - a));
    }
    Reference.reachabilityFence(x);
    Reference.reachabilityFence(out);
  }
}
