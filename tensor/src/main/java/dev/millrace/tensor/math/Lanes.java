package dev.millrace.tensor.math;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/** Vectors of floats from and to native memory. */
final class Lanes {
  static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
  static final int COUNT = SPECIES.length();
  static final int BYTES = SPECIES.vectorByteSize();
  private static final ByteOrder ORDER = ByteOrder.nativeOrder();

  private Lanes() {}

  static FloatVector load(MemorySegment m, long byteOffset) {
    return FloatVector.fromMemorySegment(SPECIES, m, byteOffset, ORDER);
  }

  static void store(FloatVector v, MemorySegment m, long byteOffset) {
    v.intoMemorySegment(m, byteOffset, ORDER);
  }
}
