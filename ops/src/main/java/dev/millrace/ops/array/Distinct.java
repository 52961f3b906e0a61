package dev.millrace.ops.array;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.DistinctLongs;
import dev.millrace.tensor.math.OrderedBits;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;

/**
 * Numbers the distinct elements of vectors in order of appearance. A NaN is like no other. The two
 * zeros of half and bfloat16 are told apart, which TensorFlow looks up by their bits.
 */
final class Distinct {
  /** What no number becomes: the place between those below zero and those from it on. */
  private static final long MINUS_ZERO = -1;

  private final DistinctLongs numbers;
  private final Map<ByteBuffer, Integer> strings = new HashMap<>();

  /** For about this many elements. */
  Distinct(long expected) {
    numbers = new DistinctLongs(expected);
  }

  /** Refuses element types that cannot be compared here. */
  static void check(Node node) {
    DType type = node.input(0).dtype();
    boolean known =
        type.isFloating() || type.isIntegral() || type == DType.BOOL || type == DType.STRING;
    if (!known) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          node.op().name() + " '" + node.name() + "' cannot compare " + type + " here.");
    }
  }

  int size() {
    return numbers.size() + strings.size();
  }

  /** The number of element {@code i}, a new one if no equal element has come before. */
  int add(Tensor x, long i) {
    if (x.dtype() == DType.STRING) {
      Integer k = strings.putIfAbsent(ByteBuffer.wrap(x.bytesAt(i)), strings.size());
      return k == null ? strings.size() - 1 : k;
    }
    long key = key(x, i);
    // Made different from every number and every other NaN by where it stands.
    return numbers.add(isNan(x, key) ? OrderedBits.NAN + 1 + i : key);
  }

  boolean contains(Tensor x, long i) {
    if (x.dtype() == DType.STRING) {
      return strings.containsKey(ByteBuffer.wrap(x.bytesAt(i)));
    }
    long key = key(x, i);
    return !isNan(x, key) && numbers.contains(key);
  }

  private static long key(Tensor x, long i) {
    boolean isShort = x.dtype() == DType.HALF || x.dtype() == DType.BFLOAT16;
    boolean isMinusZero =
        isShort && x.data().getAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, i) == Short.MIN_VALUE;
    return isMinusZero ? MINUS_ZERO : OrderedBits.at(x, i);
  }

  private static boolean isNan(Tensor x, long key) {
    return x.dtype().isFloating() && key == OrderedBits.NAN;
  }
}
