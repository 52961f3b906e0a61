package dev.millrace.tensor.math.conv;

import static dev.millrace.tensor.math.elementwise.Formula.X;
import static dev.millrace.tensor.math.elementwise.Formula.Y;
import static dev.millrace.tensor.math.elementwise.Formula.choose;
import static dev.millrace.tensor.math.elementwise.Formula.number;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.elementwise.Formula;
import dev.millrace.tensor.math.elementwise.Recipe;
import dev.millrace.tensor.math.elementwise.Walk;
import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
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
      Recipe.map(2, choose(X.plus(Y).is(Formula.Relation.LE, 0), number(0), X.plus(Y)));
  private static final double[] NONE = {};
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;

  /** For plain loops, which the JVM's compiler makes vectors of. */
  private static final int PLAIN_LANES = 16;

  /** Values that are worth a thread of their own. */
  private static final long GRAIN = 1 << 16;

  /** Floats of a bias that is repeated until whole vectors are full, at most. */
  private static final long MAX_PATTERN = 1 << 14;

  private ChannelBias() {}

  /**
   * {@code out = value + bias}, or the larger of that and 0 with {@code relu}; {@code out} has the
   * shape of {@code value} and may be the same memory.
   */
  public static void add(Tensor value, Tensor bias, boolean relu, Tensor out) {
    long channels = bias.elements();
    int lanes = VectorModule.isPresent() ? Vectors.LANES : PLAIN_LANES;
    long pattern = channels % lanes == 0 ? channels : channels * lanes;
    if (value.dtype() == DType.FLOAT && channels > 0 && pattern <= MAX_PATTERN) {
      addFloats(value, bias, relu, out, pattern);
    } else {
      Recipe recipe = relu ? ADD_RELU : ADD;
      Walk.run(out.shape(), recipe, LaneType.of(value.dtype()), NONE, value, bias, out);
    }
  }

  /** Adds the bias as often as fills {@code pattern} floats, and with them whole vectors. */
  private static void addFloats(Tensor value, Tensor bias, boolean relu, Tensor out, long pattern) {
    Tensor repeated = Refs.allocate(DType.FLOAT, Shape.of(pattern));
    MemorySegment x = value.data();
    MemorySegment b = repeated.data();
    MemorySegment y = out.data();
    try {
      for (long at = 0; at < 4 * pattern; at += bias.byteSize()) {
        MemorySegment.copy(bias.data(), 0, b, at, bias.byteSize());
      }
      long grain = (GRAIN + pattern - 1) / pattern * pattern;
      Parallel.run(
          value.elements(),
          grain,
          (from, to) -> {
            if (relu) {
              addAndCut(x, b, 4 * pattern, y, 4 * from, 4 * to);
            } else {
              add(x, b, 4 * pattern, y, 4 * from, 4 * to);
            }
          });
    } finally {
      Refs.release(repeated);
      Reference.reachabilityFence(value);
      Reference.reachabilityFence(bias);
      Reference.reachabilityFence(out);
    }
  }

  /** {@code from} is the beginning of a row; there may be less than a pattern. */
  private static void add(
      MemorySegment x, MemorySegment b, long pattern, MemorySegment y, long from, long to) {
    for (long start = from; start < to; start += pattern) {
      long bytes = Math.min(pattern, to - start);
      long i = 0;
      if (VectorModule.isPresent()) {
        i = Vectors.add(x, b, y, start, bytes);
      }
      for (; i < bytes; i += 4) {
        y.set(F32, start + i, x.get(F32, start + i) + b.get(F32, i));
      }
    }
  }

  private static void addAndCut(
      MemorySegment x, MemorySegment b, long pattern, MemorySegment y, long from, long to) {
    for (long start = from; start < to; start += pattern) {
      long bytes = Math.min(pattern, to - start);
      long i = 0;
      if (VectorModule.isPresent()) {
        i = Vectors.addAndCut(x, b, y, start, bytes);
      }
      for (; i < bytes; i += 4) {
        float sum = x.get(F32, start + i) + b.get(F32, i);
        y.set(F32, start + i, sum <= 0 ? 0 : sum);
      }
    }
  }

  /**
   * The same for floats in place, on the calling thread; channels must fill whole vectors of the
   * Vector API.
   */
  static void addHere(MemorySegment values, MemorySegment bias, int channels, boolean relu) {
    Vectors.addHere(values, bias, channels, relu);
  }

  /** Whether values of this tensor's type can be added here. */
  public static boolean supports(Tensor value) {
    return LaneType.of(value.dtype()) != null;
  }

  /** The loops over vectors: apart, as they can be linked only where there is the Vector API. */
  private static final class Vectors {
    private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
    private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;
    private static final long STEP = S.vectorByteSize();
    static final int LANES = S.length();

    private Vectors() {}

    static long add(MemorySegment x, MemorySegment b, MemorySegment y, long start, long bytes) {
      long i = 0;
      for (; i <= bytes - STEP; i += STEP) {
        FloatVector.fromMemorySegment(S, x, start + i, LE)
            .add(FloatVector.fromMemorySegment(S, b, i, LE))
            .intoMemorySegment(y, start + i, LE);
      }
      return i;
    }

    static long addAndCut(
        MemorySegment x, MemorySegment b, MemorySegment y, long start, long bytes) {
      long i = 0;
      for (; i <= bytes - STEP; i += STEP) {
        FloatVector sum =
            FloatVector.fromMemorySegment(S, x, start + i, LE)
                .add(FloatVector.fromMemorySegment(S, b, i, LE));
        sum.blend(0f, sum.compare(VectorOperators.LE, 0f)).intoMemorySegment(y, start + i, LE);
      }
      return i;
    }

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
            FloatVector.fromMemorySegment(S, values, at, LE)
                .add(b)
                .intoMemorySegment(values, at, LE);
          }
        }
      }
    }
  }
}
