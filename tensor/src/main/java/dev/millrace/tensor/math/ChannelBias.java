package dev.millrace.tensor.math;

import static dev.millrace.tensor.math.Formula.X;
import static dev.millrace.tensor.math.Formula.Y;
import static dev.millrace.tensor.math.Formula.choose;
import static dev.millrace.tensor.math.Formula.number;

import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Adds one number per channel to values whose channels come last, and cuts off what is below zero
 * if so wished. For types with vector arithmetic of their own.
 *
 * <p>Threading: large loops are split over the threads of {@link Parallel}.
 */
public final class ChannelBias {
  private static final Recipe ADD = Recipe.map(2, X.plus(Y));
  private static final Recipe ADD_RELU =
      Recipe.map(2, choose(X.plus(Y).is(VectorOperators.LE, 0), number(0), X.plus(Y)));
  private static final double[] NONE = {};
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;

  /** Rows shorter than this are added several at a time. */
  private static final long SHORT_ROW = 512;

  private ChannelBias() {}

  /**
   * {@code out = value + bias}, or the larger of that and 0 with {@code relu}; {@code out} has the
   * shape of {@code value} and may be the same memory.
   */
  public static void add(Tensor value, Tensor bias, boolean relu, Tensor out) {
    Recipe recipe = relu ? ADD_RELU : ADD;
    LaneType lane = LaneType.of(value.dtype());
    long channels = bias.elements();
    long rows = channels == 0 ? 0 : value.elements() / channels;
    int together = 1;
    while (channels * together < SHORT_ROW && rows % (2L * together) == 0 && rows > 0) {
      together *= 2;
    }
    if (together == 1) {
      Walk.run(out.shape(), recipe, lane, NONE, value, bias, out);
      return;
    }
    Tensor repeated = Tensor.allocateCounted(bias.dtype(), Shape.of(channels * together));
    Shape matrix = Shape.of(rows / together, channels * together);
    Tensor from = value.reshaped(matrix);
    Tensor to = out.reshaped(matrix);
    try {
      for (long i = 0; i < together; i++) {
        MemorySegment.copy(bias.data(), 0, repeated.data(), i * bias.byteSize(), bias.byteSize());
      }
      Walk.run(matrix, recipe, lane, NONE, from, repeated, to);
    } finally {
      repeated.release();
      from.release();
      to.release();
    }
  }

  /** The same for floats in place, on the calling thread; channels must fill whole vectors. */
  static void addHere(MemorySegment values, MemorySegment bias, int channels, boolean relu) {
    long rowBytes = 4L * channels;
    long bytes = values.byteSize();
    for (long c = 0; c < rowBytes; c += S.vectorByteSize()) {
      FloatVector b = FloatVector.fromMemorySegment(S, bias, c, LE);
      if (relu) {
        for (long at = c; at < bytes; at += rowBytes) {
          FloatVector y = FloatVector.fromMemorySegment(S, values, at, LE).add(b);
          y.blend(0f, y.compare(VectorOperators.LE, 0f)).intoMemorySegment(values, at, LE);
        }
      } else {
        for (long at = c; at < bytes; at += rowBytes) {
          FloatVector.fromMemorySegment(S, values, at, LE).add(b).intoMemorySegment(values, at, LE);
        }
      }
    }
  }

  /** Whether values of this tensor's type can be added here. */
  public static boolean supports(Tensor value) {
    return LaneType.of(value.dtype()) != null;
  }
}
