package dev.millrace.tensor;

import dev.millrace.base.MillraceException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;

/**
 * A typed, shaped, dense array of values. Numbers live row-major and little-endian in native
 * memory; strings and resource handles live on the heap.
 *
 * <p>Memory is reference counted. A tensor made by one of the static factories, or handed out by a
 * session, belongs to the caller, who may {@link #close} it to give the memory back at once; if
 * that is forgotten, the garbage collector does it some time later. Inside the engine, where every
 * tensor has a known last reader, {@link #retain} and {@link #release} count exactly and no
 * collector is involved.
 *
 * <p>Threading: immutable but for its contents; writing to {@link #data} while others read is the
 * caller's business.
 */
public final class Tensor implements AutoCloseable {
  static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;
  static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
  static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;
  static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;

  private static final Cleaner CLEANER = Cleaner.create();

  private final DType dtype;
  private final Shape shape;

  /** Null for types that do not live in a buffer. */
  private final Buffer buffer;

  /** The first {@link #byteSize} bytes of the buffer; null where there is none. */
  private final MemorySegment data;

  /** Elements of a string, resource or variant tensor; null for the plain types. */
  private final Object[] objects;

  /** The buffer's generation while this tensor owns it. */
  private final int generation;

  /** Releases the caller's reference once, by close() or by the garbage collector. */
  private Cleaner.Cleanable guard;

  private Tensor(DType dtype, Shape shape, Buffer buffer, Object[] objects) {
    this.dtype = dtype;
    this.shape = shape;
    this.buffer = buffer;
    this.objects = objects;
    this.generation = buffer == null ? 0 : buffer.generation();
    this.data = buffer == null ? null : buffer.memory().asSlice(0, byteSize(dtype, shape));
  }

  // ---- making tensors ----

  /** A tensor of undefined contents that the caller owns; see the class comment. */
  public static Tensor allocate(DType dtype, Shape shape) {
    return allocateCounted(dtype, shape).guarded();
  }

  /**
   * A tensor of undefined contents with one reference that must be {@link #release released}: no
   * garbage collector will do it. For the engine.
   */
  public static Tensor allocateCounted(DType dtype, Shape shape) {
    if (!dtype.isPlain()) {
      return ofObjects(dtype, shape, new Object[Math.toIntExact(shape.elements())]);
    }
    return new Tensor(dtype, shape, BufferPool.shared().allocate(byteSize(dtype, shape)), null);
  }

  /** A tensor in the first bytes of {@code buffer}; takes over one reference to it. */
  public static Tensor ofBuffer(DType dtype, Shape shape, Buffer buffer) {
    if (byteSize(dtype, shape) > buffer.capacityBytes()) {
      throw new IllegalArgumentException(
          dtype + shape.toString() + " does not fit " + buffer.capacityBytes() + " bytes");
    }
    return new Tensor(dtype, shape, buffer, null);
  }

  /**
   * A tensor of heap objects: byte arrays for strings, handles for resources. One of variants takes
   * over a count of each {@link VariantValue} and has one counted reference itself.
   */
  public static Tensor ofObjects(DType dtype, Shape shape, Object[] elements) {
    if (dtype.isPlain() || elements.length != shape.elements()) {
      throw new IllegalArgumentException(
          dtype + shape.toString() + " from " + elements.length + " objects");
    }
    Buffer counter =
        dtype == DType.VARIANT
            ? Buffer.over(MemorySegment.NULL, b -> VariantValue.releaseAll(elements))
            : null;
    return new Tensor(dtype, shape, counter, elements);
  }

  /**
   * A tensor of handles with one counted reference; {@code whenUnused} ends what they stand for
   * when the last reference is released.
   */
  public static Tensor ofHandles(Shape shape, Object[] handles, Runnable whenUnused) {
    Tensor plain = ofObjects(DType.RESOURCE, shape, handles);
    Buffer counter = Buffer.over(MemorySegment.NULL, b -> whenUnused.run());
    return new Tensor(DType.RESOURCE, plain.shape, counter, handles);
  }

  /** Copies {@code count} elements from one array of objects to another, strided. */
  public static void copyObjects(
      Object[] from,
      long start,
      long stride,
      Object[] to,
      long toStart,
      long toStride,
      long count) {
    for (long i = 0; i < count; i++) {
      VariantValue.copy(from, (int) (start + i * stride), to, (int) (toStart + i * toStride));
    }
  }

  /** The same tensor as one the caller owns. Takes over the caller's counted reference. */
  public Tensor guarded() {
    if (buffer != null && guard == null) {
      Buffer b = buffer;
      guard = CLEANER.register(this, b::release);
    }
    return this;
  }

  private static long byteSize(DType dtype, Shape shape) {
    if (!shape.isKnown()) {
      throw new IllegalArgumentException("a tensor needs a known shape, not " + shape);
    }
    return Math.multiplyExact(shape.elements(), (long) dtype.bytes());
  }

  /** A float scalar. */
  public static Tensor scalar(float v) {
    return of(Shape.scalar(), v);
  }

  /** A double scalar. */
  public static Tensor scalar(double v) {
    return of(Shape.scalar(), v);
  }

  /** An int32 scalar. */
  public static Tensor scalar(int v) {
    return of(Shape.scalar(), v);
  }

  /** An int64 scalar. */
  public static Tensor scalar(long v) {
    return of(Shape.scalar(), v);
  }

  /** A bool scalar. */
  public static Tensor scalar(boolean v) {
    return of(Shape.scalar(), v);
  }

  /** A string scalar in UTF-8. */
  public static Tensor scalar(String v) {
    return of(Shape.scalar(), v);
  }

  /** A vector of floats. */
  public static Tensor vector(float... v) {
    return of(Shape.of(v.length), v);
  }

  /** A vector of doubles. */
  public static Tensor vector(double... v) {
    return of(Shape.of(v.length), v);
  }

  /** A vector of int32. */
  public static Tensor vector(int... v) {
    return of(Shape.of(v.length), v);
  }

  /** A vector of int64. */
  public static Tensor vector(long... v) {
    return of(Shape.of(v.length), v);
  }

  /** A vector of strings in UTF-8. */
  public static Tensor vector(String... v) {
    return of(Shape.of(v.length), v);
  }

  /** A float tensor of this shape with these elements in row-major order. */
  public static Tensor of(Shape shape, float... v) {
    Tensor t = allocateFor(DType.FLOAT, shape, v.length);
    MemorySegment.copy(v, 0, t.data, F32, 0, v.length);
    return t;
  }

  /** Doubles in row order. */
  public static Tensor of(Shape shape, double... v) {
    Tensor t = allocateFor(DType.DOUBLE, shape, v.length);
    MemorySegment.copy(v, 0, t.data, F64, 0, v.length);
    return t;
  }

  /** Int32 in row order. */
  public static Tensor of(Shape shape, int... v) {
    Tensor t = allocateFor(DType.INT32, shape, v.length);
    MemorySegment.copy(v, 0, t.data, I32, 0, v.length);
    return t;
  }

  /** Int64 in row order. */
  public static Tensor of(Shape shape, long... v) {
    Tensor t = allocateFor(DType.INT64, shape, v.length);
    MemorySegment.copy(v, 0, t.data, I64, 0, v.length);
    return t;
  }

  /** Bools in row order. */
  public static Tensor of(Shape shape, boolean... v) {
    Tensor t = allocateFor(DType.BOOL, shape, v.length);
    for (int i = 0; i < v.length; i++) {
      t.data.set(I8, i, (byte) (v[i] ? 1 : 0));
    }
    return t;
  }

  public static Tensor of(Shape shape, byte... v) {
    Tensor t = allocateFor(DType.UINT8, shape, v.length);
    MemorySegment.copy(v, 0, t.data, I8, 0, v.length);
    return t;
  }

  /** Strings in UTF-8, in row order. */
  public static Tensor of(Shape shape, String... v) {
    Object[] bytes = new Object[v.length];
    for (int i = 0; i < v.length; i++) {
      bytes[i] = v[i].getBytes(StandardCharsets.UTF_8);
    }
    checkCount(DType.STRING, shape, v.length);
    return ofObjects(DType.STRING, shape, bytes);
  }

  private static Tensor allocateFor(DType dtype, Shape shape, int count) {
    checkCount(dtype, shape, count);
    return allocate(dtype, shape);
  }

  private static void checkCount(DType dtype, Shape shape, int count) {
    if (shape.elements() != count) {
      throw MillraceException.invalid(
          "A %s tensor of shape %s needs %d values; %d were given.",
          dtype, shape, shape.elements(), count);
    }
  }

  // ---- what it is ----

  /** The type of its elements. */
  public DType dtype() {
    return dtype;
  }

  /** Its shape, which is always known. */
  public Shape shape() {
    return shape;
  }

  /** How many elements it has. */
  public long elements() {
    return shape.elements();
  }

  /** Bytes of the elements; 0 for types that do not live in a buffer. */
  public long byteSize() {
    return data == null ? 0 : data.byteSize();
  }

  /**
   * The elements of a plain type. Valid while the tensor is, which is not checked: keep the tensor
   * reachable, or close it only when done with the segment.
   */
  public MemorySegment data() {
    if (data == null) {
      throw new IllegalStateException("a " + dtype + " tensor has no native data");
    }
    return data;
  }

  /** The buffer below; null for types that have none. */
  public Buffer buffer() {
    return buffer;
  }

  /** The elements of a string, resource or variant tensor, not copied. */
  public Object[] objects() {
    if (objects == null) {
      throw new IllegalStateException("a " + dtype + " tensor has no objects");
    }
    return objects;
  }

  // ---- lifetime ----

  /** Adds a reference that {@link #release} takes back. Returns this. */
  public Tensor retain() {
    if (buffer != null) {
      buffer.retain();
    }
    return this;
  }

  /** Gives back one counted reference. */
  public void release() {
    if (buffer != null) {
      buffer.release();
    }
  }

  /** Gives back the caller's reference. Calling it again does nothing. */
  @Override
  public void close() {
    if (guard != null) {
      guard.clean();
    }
  }

  /** Whether this tensor is closed: its memory may belong to another tensor by now. */
  public boolean isGone() {
    return buffer != null && (buffer.references() <= 0 || buffer.generation() != generation);
  }

  private Tensor checkThere() {
    if (isGone()) {
      throw new IllegalStateException(
          "A tensor "
              + dtype.label()
              + shape
              + " was used after it was closed. Its memory has been given back; close it last.");
    }
    return this;
  }

  /**
   * A tensor of another shape with the same number of elements, in the same memory. It holds a
   * counted reference of its own.
   */
  public Tensor reshaped(Shape other) {
    if (other.elements() != shape.elements()) {
      throw MillraceException.invalid(
          "A tensor of shape %s (%d elements) cannot have shape %s (%d elements).",
          shape, shape.elements(), other, other.elements());
    }
    retain();
    return new Tensor(dtype, other, buffer, objects);
  }

  /** The same bytes read as another type of the same size, with a counted reference of its own. */
  public Tensor bitcast(DType other) {
    if (other.bytes() != dtype.bytes()) {
      throw new IllegalArgumentException(dtype + " as " + other);
    }
    retain();
    return new Tensor(other, shape, buffer, objects);
  }

  /** A tensor with the same contents in memory of its own, with one counted reference. */
  public Tensor copyCounted() {
    if (objects != null) {
      Tensor t = ofObjects(dtype, shape, new Object[objects.length]);
      copyObjects(objects, 0, 1, t.objects, 0, 1, objects.length);
      Reference.reachabilityFence(this);
      return t;
    }
    Tensor t = allocateCounted(dtype, shape);
    MemorySegment.copy(data, 0, t.data, 0, data.byteSize());
    Reference.reachabilityFence(this);
    return t;
  }

  // ---- single elements, of any type: convenient, not fast ----

  /** Element {@code i} in row-major order, as a double. */
  public double doubleAt(long i) {
    return checkThere().readDouble(i);
  }

  private double readDouble(long i) {
    return switch (dtype) {
      case FLOAT -> data.getAtIndex(F32, i);
      case DOUBLE -> data.getAtIndex(F64, i);
      case HALF -> Float.float16ToFloat(data.getAtIndex(I16, i));
      case BFLOAT16 -> bfloat16ToFloat(data.getAtIndex(I16, i));
      case UINT64 -> unsignedToDouble(data.getAtIndex(I64, i));
      default -> readLong(i);
    };
  }

  /** Element {@code i} in row-major order, as a long; bool is 0 or 1, fractions are cut. */
  public long longAt(long i) {
    return checkThere().readLong(i);
  }

  private long readLong(long i) {
    return switch (dtype) {
      case INT32, QINT32 -> data.getAtIndex(I32, i);
      case INT64, UINT64 -> data.getAtIndex(I64, i);
      case INT16, QINT16 -> data.getAtIndex(I16, i);
      case INT8, QINT8 -> data.get(I8, i);
      case UINT8, QUINT8 -> data.get(I8, i) & 0xFF;
      case UINT16, QUINT16 -> data.getAtIndex(I16, i) & 0xFFFF;
      case UINT32 -> data.getAtIndex(I32, i) & 0xFFFFFFFFL;
      case BOOL -> data.get(I8, i) != 0 ? 1 : 0;
      case FLOAT, DOUBLE, HALF, BFLOAT16 -> (long) readDouble(i);
      default -> throw new IllegalStateException("a " + dtype + " element is not a number");
    };
  }

  /** Sets element {@code i}, rounding to the element type. */
  public void setDouble(long i, double v) {
    switch (dtype) {
      case FLOAT -> data.setAtIndex(F32, i, (float) v);
      case DOUBLE -> data.setAtIndex(F64, i, v);
      case HALF -> data.setAtIndex(I16, i, Float.floatToFloat16((float) v));
      case BFLOAT16 -> data.setAtIndex(I16, i, floatToBfloat16((float) v));
      default -> setLong(i, (long) v);
    }
  }

  /** Sets element {@code i}, keeping the low bits where the element type is narrower. */
  public void setLong(long i, long v) {
    switch (dtype) {
      case INT32, UINT32, QINT32 -> data.setAtIndex(I32, i, (int) v);
      case INT64, UINT64 -> data.setAtIndex(I64, i, v);
      case INT16, UINT16, QINT16, QUINT16 -> data.setAtIndex(I16, i, (short) v);
      case INT8, UINT8, QINT8, QUINT8 -> data.set(I8, i, (byte) v);
      case BOOL -> data.set(I8, i, (byte) (v != 0 ? 1 : 0));
      case FLOAT, DOUBLE, HALF, BFLOAT16 -> setDouble(i, (double) v);
      default -> throw new IllegalStateException("a " + dtype + " element is not a number");
    }
  }

  /** Element {@code i} in row order, of a bool tensor. */
  public boolean booleanAt(long i) {
    return longAt(i) != 0;
  }

  /** The bytes of string {@code i}. */
  public byte[] bytesAt(long i) {
    return (byte[]) objects()[Math.toIntExact(i)];
  }

  /** String {@code i}, read as UTF-8. */
  public String stringAt(long i) {
    return new String(bytesAt(i), StandardCharsets.UTF_8);
  }

  /** The only element as a float. */
  public float floatValue() {
    return (float) single().doubleAt(0);
  }

  /** The only element as a double. */
  public double doubleValue() {
    return single().doubleAt(0);
  }

  /** The only element as an int. */
  public int intValue() {
    return Math.toIntExact(single().longAt(0));
  }

  /** The only element as a long. */
  public long longValue() {
    return single().longAt(0);
  }

  /** The only element as a boolean. */
  public boolean booleanValue() {
    return single().longAt(0) != 0;
  }

  /** The only element as a string. */
  public String stringValue() {
    return single().stringAt(0);
  }

  private Tensor single() {
    if (shape.elements() != 1) {
      throw MillraceException.invalid(
          "A single value was asked of a tensor of shape %s with %d elements.",
          shape, shape.elements());
    }
    return this;
  }

  // ---- all elements ----

  /** All elements in row-major order as floats, converted if need be. */
  public float[] toFloats() {
    checkThere();
    float[] out = new float[Math.toIntExact(elements())];
    if (dtype == DType.FLOAT) {
      MemorySegment.copy(data, F32, 0, out, 0, out.length);
    } else {
      for (int i = 0; i < out.length; i++) {
        out[i] = (float) readDouble(i);
      }
    }
    Reference.reachabilityFence(this);
    return out;
  }

  /** All elements in row-major order as doubles, converted if need be. */
  public double[] toDoubles() {
    checkThere();
    double[] out = new double[Math.toIntExact(elements())];
    for (int i = 0; i < out.length; i++) {
      out[i] = readDouble(i);
    }
    Reference.reachabilityFence(this);
    return out;
  }

  /** All elements in row-major order as ints. */
  public int[] toInts() {
    checkThere();
    int[] out = new int[Math.toIntExact(elements())];
    for (int i = 0; i < out.length; i++) {
      out[i] = Math.toIntExact(readLong(i));
    }
    Reference.reachabilityFence(this);
    return out;
  }

  /** All elements in row-major order as longs. */
  public long[] toLongs() {
    checkThere();
    long[] out = new long[Math.toIntExact(elements())];
    for (int i = 0; i < out.length; i++) {
      out[i] = readLong(i);
    }
    Reference.reachabilityFence(this);
    return out;
  }

  /** All elements in row-major order as strings, read as UTF-8. */
  public String[] toStrings() {
    String[] out = new String[Math.toIntExact(elements())];
    for (int i = 0; i < out.length; i++) {
      out[i] = stringAt(i);
    }
    return out;
  }

  /** Type, shape and the first values. */
  @Override
  public String toString() {
    StringBuilder s = new StringBuilder(dtype.label()).append(shape).append(' ');
    if (isGone()) {
      return s.append("(closed)").toString();
    }
    long n = Math.min(elements(), 8);
    s.append(shape.isScalar() ? "" : "{");
    for (long i = 0; i < n; i++) {
      s.append(i == 0 ? "" : ", ");
      if (dtype == DType.STRING) {
        s.append('"').append(stringAt(i)).append('"');
      } else if (!dtype.isPlain()) {
        s.append(objects[(int) i]);
      } else if (dtype == DType.BOOL) {
        s.append(booleanAt(i));
      } else if (dtype == DType.FLOAT || dtype == DType.HALF || dtype == DType.BFLOAT16) {
        s.append((float) doubleAt(i));
      } else if (dtype == DType.DOUBLE) {
        s.append(doubleAt(i));
      } else if (dtype == DType.COMPLEX64 || dtype == DType.COMPLEX128) {
        s.append('?');
      } else {
        s.append(dtype == DType.UINT64 ? Long.toUnsignedString(longAt(i)) : longAt(i) + "");
      }
    }
    s.append(elements() > n ? ", ..." : "").append(shape.isScalar() ? "" : "}");
    Reference.reachabilityFence(this);
    return s.toString();
  }

  // ---- sixteen-bit floats ----

  /** The value of these bfloat16 bits. */
  public static float bfloat16ToFloat(short bits) {
    return Float.intBitsToFloat(bits << 16);
  }

  /** The nearest bfloat16, ties to even; NaN stays NaN. */
  public static short floatToBfloat16(float v) {
    int bits = Float.floatToRawIntBits(v);
    if (Float.isNaN(v)) {
      return (short) ((bits >>> 16) | 0x40);
    }
    return (short) ((bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16);
  }

  private static double unsignedToDouble(long v) {
    return v >= 0 ? v : ((v >>> 1) | (v & 1)) * 2.0;
  }
}
