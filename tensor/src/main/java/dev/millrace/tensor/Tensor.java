package dev.millrace.tensor;

import dev.millrace.base.MillraceException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/**
 * A typed, shaped, dense array of values. Numbers live row-major and little-endian in native
 * memory; strings and resource handles live on the heap.
 *
 * <p>A tensor made by one of the static factories, or handed out by a session, is a handle that
 * belongs to the caller, who may {@link #close} it to give the memory back at once; if that is
 * forgotten, the garbage collector does it some time later. Every use of a closed tensor fails with
 * a {@link ClosedTensorException}, also where it is fed or saved. To close a tensor while a step
 * that it was fed to runs is safe: the step keeps the memory for itself.
 *
 * <p>The engine counts its references to the memory exactly and without the garbage collector; see
 * {@link Refs}. A kernel's inputs are such counted tensors. They are not closed.
 *
 * <p>Threading: immutable but for its contents and for being closed. Any thread may close a tensor
 * while others read it: each read ends with the right values or fails. Writing while others read is
 * the caller's business, and so is what becomes of the segment of {@link #data}.
 */
public final class Tensor implements AutoCloseable {
  private static final int MOST_PRINTED = 8;

  private final DType dtype;
  private final Shape shape;

  /** Null for types that do not live in a buffer. */
  final Buffer buffer;

  /** The first {@link #byteSize} bytes of the buffer; null where there is none. */
  final MemorySegment data;

  /** Elements of a string, resource or variant tensor; null for the plain types. */
  final Object[] objects;

  /** The program's reference that this handle stands for; null for a counted tensor. */
  final Ownership owner;

  /** The buffer's generation while this tensor is there. */
  private final int generation;

  Tensor(
      DType dtype,
      Shape shape,
      Buffer buffer,
      MemorySegment data,
      Object[] objects,
      Ownership owner) {
    this.dtype = dtype;
    this.shape = shape;
    this.buffer = buffer;
    this.data = data;
    this.objects = objects;
    this.owner = owner;
    this.generation = buffer == null ? 0 : buffer.generation();
  }

  // ---- making tensors ----

  /** A tensor of undefined contents. */
  public static Tensor allocate(DType dtype, Shape shape) {
    if (!dtype.isPlain()) {
      return ofObjects(dtype, shape, newObjects(dtype, shape));
    }
    Buffer b = BufferPool.current().allocate(byteSize(dtype, shape));
    Ownership o = Ownership.of(b, null);
    Tensor t = Refs.ofBuffer(dtype, shape, b, o);
    o.watch(t);
    return t;
  }

  /** A tensor of heap objects, not copied: byte arrays for strings. */
  public static Tensor ofObjects(DType dtype, Shape shape, Object[] elements) {
    Buffer counter = Refs.counterOf(dtype, shape, elements);
    Ownership o = Ownership.of(counter, null);
    Tensor t = new Tensor(dtype, shape, counter, null, elements, o);
    o.watch(t);
    return t;
  }

  /** The same elements in {@code b}, which is this tensor's buffer. */
  Tensor in(Buffer b, Ownership o) {
    return as(dtype, shape, b, o);
  }

  Tensor as(DType otherType, Shape otherShape, Buffer b, Ownership o) {
    return new Tensor(otherType, otherShape, b, data, objects, o);
  }

  static long byteSize(DType dtype, Shape shape) {
    if (!shape.isKnown()) {
      throw new IllegalArgumentException("a tensor needs a known shape, not " + shape);
    }
    try {
      return Math.multiplyExact(shape.elements(), (long) dtype.bytes());
    } catch (ArithmeticException e) {
      throw MillraceException.invalid(
          "A %s tensor of shape %s needs more than 2^63 bytes.", dtype, shape);
    }
  }

  /** Room for the elements of a tensor of objects. */
  static Object[] newObjects(DType dtype, Shape shape) {
    if (shape.elements() > Integer.MAX_VALUE) {
      throw MillraceException.invalid(
          "A %s tensor of shape %s has %d elements; at most %d are possible.",
          dtype, shape, shape.elements(), Integer.MAX_VALUE);
    }
    return new Object[(int) shape.elements()];
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
    MemorySegment.copy(v, 0, t.data, ElementAccess.F32, 0, v.length);
    return t;
  }

  /** Doubles in row order. */
  public static Tensor of(Shape shape, double... v) {
    Tensor t = allocateFor(DType.DOUBLE, shape, v.length);
    MemorySegment.copy(v, 0, t.data, ElementAccess.F64, 0, v.length);
    return t;
  }

  /** Int32 in row order. */
  public static Tensor of(Shape shape, int... v) {
    Tensor t = allocateFor(DType.INT32, shape, v.length);
    MemorySegment.copy(v, 0, t.data, ElementAccess.I32, 0, v.length);
    return t;
  }

  /** Int64 in row order. */
  public static Tensor of(Shape shape, long... v) {
    Tensor t = allocateFor(DType.INT64, shape, v.length);
    MemorySegment.copy(v, 0, t.data, ElementAccess.I64, 0, v.length);
    return t;
  }

  /** Bools in row order. */
  public static Tensor of(Shape shape, boolean... v) {
    Tensor t = allocateFor(DType.BOOL, shape, v.length);
    for (int i = 0; i < v.length; i++) {
      t.data.set(ElementAccess.I8, i, (byte) (v[i] ? 1 : 0));
    }
    return t;
  }

  /** Bytes without sign in row order. */
  public static Tensor of(Shape shape, byte... v) {
    Tensor t = allocateFor(DType.UINT8, shape, v.length);
    MemorySegment.copy(v, 0, t.data, ElementAccess.I8, 0, v.length);
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
    check();
    return dtype;
  }

  /** Its shape, which is always known. */
  public Shape shape() {
    check();
    return shape;
  }

  /** How many elements it has. */
  public long elements() {
    check();
    return shape.elements();
  }

  /** Bytes of the elements; 0 for types that do not live in a buffer. */
  public long byteSize() {
    check();
    return data == null ? 0 : data.byteSize();
  }

  /**
   * The elements of a plain type. The segment is the memory itself: valid until the tensor is
   * closed or unreachable. With {@code -Dmillrace.tensor.debug=true} every access to the segment of
   * a closed tensor fails with an {@link IllegalStateException}; otherwise it is not checked.
   */
  public MemorySegment data() {
    checkMemory();
    if (data == null) {
      throw new IllegalStateException(
          dtype.isPlain()
              ? "a tensor in the memory of a device cannot be read on the host"
              : "a " + dtype + " tensor has no native data");
    }
    return owner != null && TensorChecks.CHECKS_SEGMENTS ? owner.view(this) : data;
  }

  /** The elements of a string, resource or variant tensor, not copied. */
  public Object[] objects() {
    checkMemory();
    if (objects == null) {
      throw new IllegalStateException("a " + dtype + " tensor has no objects");
    }
    return objects;
  }

  // ---- lifetime ----

  /** Gives the memory back. Calling it again does nothing. */
  @Override
  public void close() {
    if (owner == null) {
      throw new IllegalStateException(
          "The tensor " + description() + " belongs to the engine and cannot be closed.");
    }
    owner.close();
  }

  /** Whether this tensor is closed. */
  public boolean isClosed() {
    return owner != null ? owner.isClosed() : !isCurrent();
  }

  /** Whether a counted tensor still has its memory. */
  boolean isCurrent() {
    return buffer == null || buffer.isAt(generation);
  }

  /** Refuses a closed handle. */
  private void check() {
    if (owner != null) {
      owner.check(this);
    }
  }

  /** Refuses a closed handle, and a counted tensor whose memory was given back. */
  private void checkMemory() {
    if (owner != null) {
      owner.check(this);
    } else if (!isCurrent()) {
      throw released();
    }
  }

  private IllegalStateException released() {
    return new IllegalStateException(
        "The tensor " + description() + " was used after its last reference was released.");
  }

  /** Adds a reference to the buffer and returns it; null if there is none. */
  Buffer retained() {
    if (owner != null) {
      return owner.hold(this);
    }
    if (buffer == null) {
      return null;
    }
    boolean held = buffer.tryRetain();
    if (!isCurrent()) {
      if (held) {
        buffer.release();
      }
      throw released();
    }
    return buffer;
  }

  /** Keeps the memory of a handle for one read or write; {@link #letGo} ends it. */
  Buffer hold() {
    if (owner != null) {
      return owner.hold(this);
    }
    checkMemory();
    return null;
  }

  void letGo(Buffer held) {
    if (held != null) {
      held.release();
    }
  }

  /** Type and shape, whatever the state. */
  String description() {
    return dtype.label() + shape;
  }

  /** A tensor of another shape with the same number of elements, in the same memory. */
  public Tensor reshaped(Shape other) {
    check();
    Refs.checkElements(shape, other);
    return sharing(dtype, other);
  }

  /** The same memory read as another type of the same size. */
  public Tensor bitcast(DType other) {
    check();
    if (other.bytes() != dtype.bytes()) {
      throw new IllegalArgumentException(dtype + " as " + other);
    }
    return sharing(other, shape);
  }

  private Tensor sharing(DType otherType, Shape otherShape) {
    Buffer b = retained();
    Ownership o = Ownership.of(b, null);
    Tensor t = as(otherType, otherShape, b, o);
    o.watch(t);
    return t;
  }

  /** A tensor with the same contents in memory of its own. */
  public Tensor copy() {
    return Refs.handle(Refs.copy(this));
  }

  // ---- single elements, of any type: convenient, not fast ----

  /** Element {@code i} in row-major order, as a double. */
  public double doubleAt(long i) {
    Buffer held = hold();
    try {
      return ElementAccess.getDouble(dtype, data, i);
    } finally {
      letGo(held);
    }
  }

  /** Element {@code i} in row-major order, as a long; bool is 0 or 1, fractions are cut. */
  public long longAt(long i) {
    Buffer held = hold();
    try {
      return ElementAccess.getLong(dtype, data, i);
    } finally {
      letGo(held);
    }
  }

  /** Sets element {@code i}, rounding to the element type; an imaginary part becomes 0. */
  public void setDouble(long i, double v) {
    Buffer held = hold();
    try {
      ElementAccess.setDouble(dtype, data, i, v);
    } finally {
      letGo(held);
    }
  }

  /** Sets element {@code i}, keeping the low bits where the element type is narrower. */
  public void setLong(long i, long v) {
    Buffer held = hold();
    try {
      ElementAccess.setLong(dtype, data, i, v);
    } finally {
      letGo(held);
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
    check();
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
    Buffer held = hold();
    try {
      return ElementAccess.toFloats(dtype, data, count());
    } finally {
      letGo(held);
    }
  }

  /** All elements in row-major order as doubles, converted if need be. */
  public double[] toDoubles() {
    Buffer held = hold();
    try {
      return ElementAccess.toDoubles(dtype, data, count());
    } finally {
      letGo(held);
    }
  }

  /** All elements in row-major order as ints. */
  public int[] toInts() {
    Buffer held = hold();
    try {
      return ElementAccess.toInts(dtype, data, count());
    } finally {
      letGo(held);
    }
  }

  /** All elements in row-major order as longs. */
  public long[] toLongs() {
    Buffer held = hold();
    try {
      return ElementAccess.toLongs(dtype, data, count());
    } finally {
      letGo(held);
    }
  }

  private int count() {
    return Math.toIntExact(shape.elements());
  }

  /** All elements in row-major order as strings, read as UTF-8. */
  public String[] toStrings() {
    Object[] bytes = objects();
    String[] out = new String[bytes.length];
    for (int i = 0; i < out.length; i++) {
      out[i] = new String((byte[]) bytes[i], StandardCharsets.UTF_8);
    }
    return out;
  }

  /** Type, shape and the first values; of a closed tensor that it is closed. */
  @Override
  public String toString() {
    StringBuilder s = new StringBuilder(description()).append(' ');
    Buffer held;
    try {
      held = hold();
    } catch (IllegalStateException e) {
      return s.append("(closed)").toString();
    }
    try {
      long n = Math.min(shape.elements(), MOST_PRINTED);
      s.append(shape.isScalar() ? "" : "{");
      for (int i = 0; i < n; i++) {
        s.append(i == 0 ? "" : ", ").append(text(i));
      }
      return s.append(shape.elements() > n ? ", ..." : "")
          .append(shape.isScalar() ? "" : "}")
          .toString();
    } finally {
      letGo(held);
    }
  }

  private String text(int i) {
    if (data != null) {
      return ElementAccess.text(dtype, data, i);
    }
    return objects[i] instanceof byte[] b && dtype == DType.STRING
        ? '"' + new String(b, StandardCharsets.UTF_8) + '"'
        : String.valueOf(objects[i]);
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
}
