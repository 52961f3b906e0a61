package dev.millrace.tensor.math.lanes;

import dev.millrace.tensor.DType;
import java.lang.foreign.ValueLayout;

/** The element types a loop can be made for. All others are computed through one of these. */
public enum LaneType {
  FLOAT(float.class, ValueLayout.OfFloat.class, "JAVA_FLOAT_UNALIGNED", 2),
  DOUBLE(double.class, ValueLayout.OfDouble.class, "JAVA_DOUBLE_UNALIGNED", 3),
  INT(int.class, ValueLayout.OfInt.class, "JAVA_INT_UNALIGNED", 2),
  LONG(long.class, ValueLayout.OfLong.class, "JAVA_LONG_UNALIGNED", 3),
  SHORT(short.class, ValueLayout.OfShort.class, "JAVA_SHORT_UNALIGNED", 1),
  BYTE(byte.class, ValueLayout.OfByte.class, "JAVA_BYTE", 0);

  /** The type of an element in Java. */
  public final Class<?> element;

  /** The type of its layout in memory. */
  public final Class<?> layout;

  /** The field of {@link ValueLayout} that holds the layout. */
  public final String layoutField;

  /** Binary logarithm of the bytes per element. */
  public final int shift;

  LaneType(Class<?> element, Class<?> layout, String layoutField, int shift) {
    this.element = element;
    this.layout = layout;
    this.layoutField = layoutField;
    this.shift = shift;
  }

  /** Bytes of an element. */
  public int bytes() {
    return 1 << shift;
  }

  /** Whether elements are floating-point numbers. */
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
  public static LaneType ofBytes(int bytes) {
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
