package dev.millrace.tensor.math.lanes;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import dev.millrace.tensor.VectorModule;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorSpecies;

/**
 * The vectors of each {@link LaneType}: the part of it that needs the Vector API, to be touched
 * only where {@link VectorModule#isPresent} says so.
 */
public enum LaneVectors {
  FLOAT(FloatVector.class, FloatVector.SPECIES_PREFERRED) {
    @Override
    public Vector<?> broadcast(double real, long whole) {
      return FloatVector.broadcast(FloatVector.SPECIES_PREFERRED, (float) real);
    }

    @Override
    public Vector<?> load(MemorySegment x, long at, VectorMask<?> mask) {
      return FloatVector.fromMemorySegment(
          FloatVector.SPECIES_PREFERRED, x, at, LITTLE_ENDIAN, mask.check(float.class));
    }
  },
  DOUBLE(DoubleVector.class, DoubleVector.SPECIES_PREFERRED) {
    @Override
    public Vector<?> broadcast(double real, long whole) {
      return DoubleVector.broadcast(DoubleVector.SPECIES_PREFERRED, real);
    }

    @Override
    public Vector<?> load(MemorySegment x, long at, VectorMask<?> mask) {
      return DoubleVector.fromMemorySegment(
          DoubleVector.SPECIES_PREFERRED, x, at, LITTLE_ENDIAN, mask.check(double.class));
    }
  },
  INT(IntVector.class, IntVector.SPECIES_PREFERRED) {
    @Override
    public Vector<?> broadcast(double real, long whole) {
      return IntVector.broadcast(IntVector.SPECIES_PREFERRED, (int) whole);
    }

    @Override
    public Vector<?> load(MemorySegment x, long at, VectorMask<?> mask) {
      return IntVector.fromMemorySegment(
          IntVector.SPECIES_PREFERRED, x, at, LITTLE_ENDIAN, mask.check(int.class));
    }
  },
  LONG(LongVector.class, LongVector.SPECIES_PREFERRED) {
    @Override
    public Vector<?> broadcast(double real, long whole) {
      return LongVector.broadcast(LongVector.SPECIES_PREFERRED, whole);
    }

    @Override
    public Vector<?> load(MemorySegment x, long at, VectorMask<?> mask) {
      return LongVector.fromMemorySegment(
          LongVector.SPECIES_PREFERRED, x, at, LITTLE_ENDIAN, mask.check(long.class));
    }
  },
  SHORT(ShortVector.class, ShortVector.SPECIES_PREFERRED) {
    @Override
    public Vector<?> broadcast(double real, long whole) {
      return ShortVector.broadcast(ShortVector.SPECIES_PREFERRED, (short) whole);
    }

    @Override
    public Vector<?> load(MemorySegment x, long at, VectorMask<?> mask) {
      return ShortVector.fromMemorySegment(
          ShortVector.SPECIES_PREFERRED, x, at, LITTLE_ENDIAN, mask.check(short.class));
    }
  },
  BYTE(ByteVector.class, ByteVector.SPECIES_PREFERRED) {
    @Override
    public Vector<?> broadcast(double real, long whole) {
      return ByteVector.broadcast(ByteVector.SPECIES_PREFERRED, (byte) whole);
    }

    @Override
    public Vector<?> load(MemorySegment x, long at, VectorMask<?> mask) {
      return ByteVector.fromMemorySegment(
          ByteVector.SPECIES_PREFERRED, x, at, LITTLE_ENDIAN, mask.check(byte.class));
    }
  };

  private final Class<?> vector;
  private final VectorSpecies<?> species;

  LaneVectors(Class<?> vector, VectorSpecies<?> species) {
    this.vector = vector;
    this.species = species;
  }

  /** The vectors of elements of this type. */
  public static LaneVectors of(LaneType type) {
    return valueOf(type.name());
  }

  /** All lanes the same: {@code real} in a floating type, {@code whole} in the others. */
  public abstract Vector<?> broadcast(double real, long whole);

  /** The elements under the mask; 0 in the other lanes, whose memory is not touched. */
  public abstract Vector<?> load(MemorySegment x, long at, VectorMask<?> mask);

  /** The class of the vectors. */
  public Class<?> vector() {
    return vector;
  }

  /** The species, for a loop that does not name the type of its elements. */
  @SuppressWarnings("unchecked")
  public VectorSpecies<Object> anySpecies() {
    return (VectorSpecies<Object>) species;
  }
}
