package dev.millrace.tensor;

import dev.millrace.base.MillraceException;
import java.util.EnumSet;
import java.util.Set;

/** An element type, with TensorFlow's number, name and size. */
public enum DType {
  FLOAT(1, "float", 4),
  DOUBLE(2, "double", 8),
  INT32(3, "int32", 4),
  UINT8(4, "uint8", 1),
  INT16(5, "int16", 2),
  INT8(6, "int8", 1),
  STRING(7, "string", 0),
  COMPLEX64(8, "complex64", 8),
  INT64(9, "int64", 8),
  BOOL(10, "bool", 1),
  QINT8(11, "qint8", 1),
  QUINT8(12, "quint8", 1),
  QINT32(13, "qint32", 4),
  BFLOAT16(14, "bfloat16", 2),
  QINT16(15, "qint16", 2),
  QUINT16(16, "quint16", 2),
  UINT16(17, "uint16", 2),
  COMPLEX128(18, "complex128", 16),
  HALF(19, "half", 2),
  RESOURCE(20, "resource", 0),
  VARIANT(21, "variant", 0),
  UINT32(22, "uint32", 4),
  UINT64(23, "uint64", 8);

  /** Added to a type's number where TensorFlow speaks of a reference to it. */
  public static final int REF_OFFSET = 100;

  /** Types a gradient can flow through. */
  public static final Set<DType> FLOATING = Set.copyOf(EnumSet.of(HALF, BFLOAT16, FLOAT, DOUBLE));

  /** Signed and unsigned integers, without bool and the quantised types. */
  public static final Set<DType> INTEGRAL =
      Set.copyOf(EnumSet.of(INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64));

  /** Floating and integral types. */
  public static final Set<DType> REAL;

  /** Real and complex types. */
  public static final Set<DType> NUMERIC;

  /** The index types of array ops. */
  public static final Set<DType> INDEX = Set.copyOf(EnumSet.of(INT32, INT64));

  /** Every type. */
  public static final Set<DType> ANY = Set.copyOf(EnumSet.allOf(DType.class));

  private static final DType[] BY_NUMBER = new DType[24];

  static {
    EnumSet<DType> real = EnumSet.copyOf(FLOATING);
    real.addAll(INTEGRAL);
    REAL = Set.copyOf(real);
    real.add(COMPLEX64);
    real.add(COMPLEX128);
    NUMERIC = Set.copyOf(real);
    for (DType d : values()) {
      BY_NUMBER[d.number] = d;
    }
  }

  private final int number;
  private final String label;
  private final int bytes;

  DType(int number, String label, int bytes) {
    this.number = number;
    this.label = label;
    this.bytes = bytes;
  }

  /** The number in TensorFlow's DataType enum. */
  public int number() {
    return number;
  }

  /** TensorFlow's name, such as {@code float} or {@code int64}. */
  public String label() {
    return label;
  }

  /** Bytes per element; 0 for strings, resources and variants, which do not live in a buffer. */
  public int bytes() {
    return bytes;
  }

  /** Whether elements are plain bytes in a buffer. */
  public boolean isPlain() {
    return bytes > 0;
  }

  /** Whether this is a real floating-point type. */
  public boolean isFloating() {
    return this == FLOAT || this == DOUBLE || this == HALF || this == BFLOAT16;
  }

  /** Whether this is a type of complex numbers. */
  public boolean isComplex() {
    return this == COMPLEX64 || this == COMPLEX128;
  }

  /** Whether gradients are numbers of this type: floating or complex. */
  public boolean isDifferentiable() {
    return isFloating() || isComplex();
  }

  /** The type of the parts of a complex number; a real type itself. */
  public DType realPart() {
    return this == COMPLEX64 ? FLOAT : this == COMPLEX128 ? DOUBLE : this;
  }

  /** Whether this is a type of whole numbers. */
  public boolean isIntegral() {
    return INTEGRAL.contains(this);
  }

  /** Whether this is an unsigned integer. */
  public boolean isUnsigned() {
    return this == UINT8 || this == UINT16 || this == UINT32 || this == UINT64;
  }

  /** The type with this number; a reference number gives the type referred to. */
  public static DType of(int number) {
    int n = number > REF_OFFSET ? number - REF_OFFSET : number;
    if (n > 0 && n < BY_NUMBER.length && BY_NUMBER[n] != null) {
      return BY_NUMBER[n];
    }
    throw MillraceException.invalid(
        "Data type number %d is not one Millrace knows (1 to 23).", number);
  }

  @Override
  public String toString() {
    return label;
  }
}
