package dev.millrace.tensor.math.update;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** Vectors of floats from and to native memory, and what several rules do with numbers. */
final class Lanes {
  private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
  private static final ByteOrder ORDER = ByteOrder.nativeOrder();

  /** Floats in a vector. */
  static final int COUNT = SPECIES.length();

  /** Bytes in a vector. */
  static final int BYTES = SPECIES.vectorByteSize();

  private Lanes() {}

  static FloatVector load(MemorySegment m, long byteOffset) {
    return FloatVector.fromMemorySegment(SPECIES, m, byteOffset, ORDER);
  }

  /**
   * Writes {@code v} and gives what was written: numbers too small for full precision become zero,
   * as TensorFlow's do. A slot whose gradient is zero would otherwise decay to such numbers and
   * stay there, and processors are a hundred times slower with them.
   */
  static FloatVector store(FloatVector v, MemorySegment m, long byteOffset) {
    FloatVector w = v.blend(0f, v.abs().lt(Float.MIN_NORMAL));
    w.intoMemorySegment(m, byteOffset, ORDER);
    return w;
  }

  /** {@code y} where it is above {@code x}, else {@code x}; NaN is above nothing. */
  static FloatVector raise(FloatVector x, FloatVector y) {
    return x.blend(y, y.compare(VectorOperators.GT, x));
  }

  /** {@code x} moved towards zero by {@code by}, and zero if it is no farther away than that. */
  static FloatVector shrink(FloatVector x, FloatVector by) {
    return x.sub(by).max(0f).add(x.add(by).min(0f));
  }

  static FloatVector shrink(FloatVector x, float by) {
    return x.sub(by).max(0f).add(x.add(by).min(0f));
  }
}
