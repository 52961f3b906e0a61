package dev.millrace.tensor.math.elementwise;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
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
 * The element types a vector loop can be made for. All others are computed through one of these.
 */
public enum LaneType {
  FLOAT(
      float.class,
      FloatVector.class,
      FloatVector.SPECIES_PREFERRED,
      ValueLayout.OfFloat.class,
      "JAVA_FLOAT_UNALIGNED") {
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
  DOUBLE(
      double.class,
      DoubleVector.class,
      DoubleVector.SPECIES_PREFERRED,
      ValueLayout.OfDouble.class,
      "JAVA_DOUBLE_UNALIGNED") {
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
  INT(
      int.class,
      IntVector.class,
      IntVector.SPECIES_PREFERRED,
      ValueLayout.OfInt.class,
      "JAVA_INT_UNALIGNED") {
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
  LONG(
      long.class,
      LongVector.class,
      LongVector.SPECIES_PREFERRED,
      ValueLayout.OfLong.class,
      "JAVA_LONG_UNALIGNED") {
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
  SHORT(
      short.class,
      ShortVector.class,
      ShortVector.SPECIES_PREFERRED,
      ValueLayout.OfShort.class,
      "JAVA_SHORT_UNALIGNED") {
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
  BYTE(
      byte.class,
      ByteVector.class,
      ByteVector.SPECIES_PREFERRED,
      ValueLayout.OfByte.class,
      "JAVA_BYTE") {
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

  final Class<?> element;
  final Class<?> vector;
  final VectorSpecies<?> species;
  final Class<?> layout;

  /** The field of {@link ValueLayout} that holds the layout. */
  final String layoutField;

  /** Binary logarithm of the bytes per element. */
  public final int shift;

  LaneType(
      Class<?> element,
      Class<?> vector,
      VectorSpecies<?> species,
      Class<?> layout,
      String layoutField) {
    this.element = element;
    this.vector = vector;
    this.species = species;
    this.layout = layout;
    this.layoutField = layoutField;
    this.shift = Integer.numberOfTrailingZeros(species.elementSize() / 8);
  }

  /** All lanes the same: {@code real} in a floating type, {@code whole} in the others. */
  public abstract Vector<?> broadcast(double real, long whole);

  /** The elements under the mask; 0 in the other lanes, whose memory is not touched. */
  public abstract Vector<?> load(MemorySegment x, long at, VectorMask<?> mask);

  /** The species, for a loop that does not name the type of its elements. */
  @SuppressWarnings("unchecked")
  public VectorSpecies<Object> anySpecies() {
    return (VectorSpecies<Object>) species;
  }

  public int bytes() {
    return 1 << shift;
  }

  public boolean isFloating() {
    return this == FLOAT || this == DOUBLE;
  }

  /** The type whose arithmetic is that of {@code d} itself; null if there is none. */
  public static LaneType of(DType d) {
    return switch (d) {
      case FLOAT -> FLOAT;
      case DOUBLE -> DOUBLE;
      case INT32 -> INT;
      case INT64, UINT64 -> LONG;
      case BOOL -> BYTE;
      default -> null;
    };
  }

  /** The integer type of this many bytes, for moving elements about; null if there is none. */
  static LaneType ofBytes(int bytes) {
    return switch (bytes) {
      case 1 -> BYTE;
      case 2 -> SHORT;
      case 4 -> INT;
      case 8 -> LONG;
      default -> null;
    };
  }

  /**
   * The type in which elements of type {@code d} are computed: itself where {@link #of} knows it,
   * else a wider one that holds every value.
   */
  public static DType computedAs(DType d) {
    return switch (d) {
      case HALF, BFLOAT16 -> DType.FLOAT;
      case INT8, INT16, UINT8, UINT16 -> DType.INT32;
      case UINT32 -> DType.INT64;
      default -> d;
    };
  }
}
