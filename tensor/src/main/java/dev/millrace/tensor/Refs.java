package dev.millrace.tensor;

import dev.millrace.base.MillraceException;
import java.lang.foreign.MemorySegment;

/**
 * How the engine and its kernels hold tensors: by exact counts, without the garbage collector.
 *
 * <p>A counted tensor is made with one reference. Whoever passes it on with {@link #retain} adds
 * one; whoever is done with one calls {@link #release}; with the last the memory goes back to its
 * pool. Counted tensors stay inside the engine. What a program gets is a handle ({@link #handle}),
 * and what a program gives is counted by {@link #retain}: a handle then yields a tensor of the
 * engine's own in the same memory, so the program may close the handle at any time.
 *
 * <p>Threading: any thread. Retaining a handle that another thread closes either succeeds, and the
 * memory stays, or fails as any use of a closed tensor does.
 */
public final class Refs {
  private Refs() {}

  /** A tensor of undefined contents with one reference. */
  public static Tensor allocate(DType dtype, Shape shape) {
    if (!dtype.isPlain()) {
      return ofObjects(dtype, shape, Tensor.newObjects(dtype, shape));
    }
    return ofBuffer(
        dtype, shape, BufferPool.current().allocate(Tensor.byteSize(dtype, shape)), null);
  }

  /** A tensor in the first bytes of {@code buffer}; takes over one reference to it. */
  public static Tensor ofBuffer(DType dtype, Shape shape, Buffer buffer) {
    if (Tensor.byteSize(dtype, shape) > buffer.capacityBytes()) {
      throw new IllegalArgumentException(
          dtype + shape.toString() + " does not fit " + buffer.capacityBytes() + " bytes");
    }
    return ofBuffer(dtype, shape, buffer, null);
  }

  static Tensor ofBuffer(DType dtype, Shape shape, Buffer buffer, Ownership owner) {
    buffer.describe(dtype, shape);
    MemorySegment data = buffer.memory().asSlice(0, Tensor.byteSize(dtype, shape));
    return new Tensor(dtype, shape, buffer, data, null, owner);
  }

  /**
   * A tensor of heap objects: byte arrays for strings, handles for resources. One of variants takes
   * over a count of each {@link VariantValue} and has one reference itself.
   */
  public static Tensor ofObjects(DType dtype, Shape shape, Object[] elements) {
    return new Tensor(dtype, shape, counterOf(dtype, shape, elements), null, elements, null);
  }

  /** What counts the references to a tensor of objects; null where nothing must be counted. */
  static Buffer counterOf(DType dtype, Shape shape, Object[] elements) {
    if (dtype.isPlain() || elements.length != shape.elements()) {
      throw new IllegalArgumentException(
          dtype + shape.toString() + " from " + elements.length + " objects");
    }
    if (dtype != DType.VARIANT) {
      return null;
    }
    Buffer counter = Buffer.over(MemorySegment.NULL, b -> VariantValue.releaseAll(elements));
    counter.describe(dtype, shape);
    return counter;
  }

  /**
   * A tensor of resource handles with one reference; {@code whenUnused} ends what they stand for
   * when the last reference is released.
   */
  public static Tensor ofHandles(Shape shape, Object[] handles, Runnable whenUnused) {
    Buffer counter = Buffer.over(MemorySegment.NULL, b -> whenUnused.run());
    counter.describe(DType.RESOURCE, shape);
    return new Tensor(DType.RESOURCE, shape, counter, null, handles, null);
  }

  /**
   * A tensor in memory of a device that the host cannot address, with one reference. Only kernels
   * of that device read it.
   *
   * @param memory what the device knows the memory by
   * @param whenUnused frees it when the last reference is released
   */
  public static Tensor onDevice(DType dtype, Shape shape, Object memory, Runnable whenUnused) {
    Buffer counter = Buffer.over(MemorySegment.NULL, b -> whenUnused.run());
    counter.describe(dtype, shape);
    return new Tensor(dtype, shape, counter, null, new Object[] {memory}, null);
  }

  /** What {@link #onDevice} was given for the memory of {@code t}. */
  public static Object deviceMemory(Tensor t) {
    if (!t.dtype().isPlain() || t.objects == null) {
      throw new IllegalStateException("The tensor " + t.description() + " is in host memory.");
    }
    return t.objects[0];
  }

  /**
   * The tensor with one reference more: {@code t} itself if it is counted; for a handle a counted
   * tensor in the same memory, which lives on when the handle is closed.
   */
  public static Tensor retain(Tensor t) {
    Buffer b = t.retained();
    return t.owner == null ? t : t.in(b, null);
  }

  /** Each tensor as {@link #retain} gives it, in a new array. */
  public static Tensor[] retainAll(Tensor[] tensors) {
    Tensor[] retained = new Tensor[tensors.length];
    try {
      for (int i = 0; i < tensors.length; i++) {
        retained[i] = retain(tensors[i]);
      }
    } catch (RuntimeException | Error e) {
      releaseAll(retained);
      throw e;
    }
    return retained;
  }

  /** The tensor, if it is counted; for a handle what {@link #retain} makes of it. */
  public static Tensor counted(Tensor t) {
    return t.owner == null ? t : retain(t);
  }

  /** Gives back one reference of a counted tensor. */
  public static void release(Tensor t) {
    Buffer b = t.buffer;
    if (t.owner != null) {
      throw new IllegalStateException(
          "The tensor " + t.description() + " belongs to a program, which closes it.");
    }
    if (b != null) {
      if (!t.isCurrent()) {
        throw new IllegalStateException(
            "The tensor " + t.description() + " was released more often than retained.");
      }
      b.release();
    }
  }

  /** Gives back one reference of each tensor that is not null. */
  public static void releaseAll(Iterable<Tensor> tensors) {
    for (Tensor t : tensors) {
      if (t != null) {
        release(t);
      }
    }
  }

  /** Gives back one reference of each tensor in an array; null elements are skipped. */
  public static void releaseAll(Tensor[] tensors) {
    for (Tensor t : tensors) {
      if (t != null) {
        release(t);
      }
    }
  }

  /** A handle for a program; takes over one reference of the counted tensor. */
  public static Tensor handle(Tensor t) {
    return handle(t, null);
  }

  /**
   * A handle with a name for error messages; takes over one reference of the counted tensor.
   *
   * @param name what messages call the tensor; may be null
   */
  public static Tensor handle(Tensor t, String name) {
    if (t.owner != null) {
      throw new IllegalStateException("The tensor " + t.description() + " is a handle already.");
    }
    Ownership o = Ownership.of(t.buffer, name);
    Tensor handle = t.in(t.buffer, o);
    o.watch(handle);
    return handle;
  }

  /**
   * A counted tensor in the memory of {@code t} for things that are never closed, such as graphs.
   * The garbage collector gives back its reference when nobody refers to the tensor any more.
   */
  public static Tensor constant(Tensor t) {
    Buffer b = t.retained();
    Tensor constant = t.in(b, null);
    if (b != null) {
      Ownership.releaseWithGarbage(constant, b);
    }
    return constant;
  }

  /** A counted tensor of another shape with as many elements, in the same memory. */
  public static Tensor reshaped(Tensor t, Shape shape) {
    checkElements(t.shape(), shape);
    return t.as(t.dtype(), shape, t.retained(), null);
  }

  /**
   * A counted tensor of real numbers in the memory of {@code t}, which is complex: its last
   * dimension has the two parts. What is linear in the parts can be computed on it.
   */
  public static Tensor parts(Tensor t) {
    return t.as(t.dtype().realPart(), t.shape().concat(Shape.of(2)), t.retained(), null);
  }

  static void checkElements(Shape from, Shape to) {
    if (to.elements() != from.elements()) {
      throw MillraceException.invalid(
          "A tensor of shape %s (%d elements) cannot have shape %s (%d elements).",
          from, from.elements(), to, to.elements());
    }
  }

  /** A counted tensor with the same contents in memory of its own. */
  public static Tensor copy(Tensor t) {
    Tensor copy = allocate(t.dtype(), t.shape());
    Buffer held = t.hold();
    try {
      if (t.objects != null) {
        copyObjects(t.objects, 0, 1, copy.objects, 0, 1, t.objects.length);
      } else {
        MemorySegment.copy(t.data, 0, copy.data, 0, t.data.byteSize());
      }
    } finally {
      t.letGo(held);
    }
    return copy;
  }

  /** Copies bytes of elements from one tensor of a plain type to another, of either kind. */
  public static void copyBytes(Tensor from, long start, Tensor to, long toStart, long bytes) {
    Buffer held = from.hold();
    try {
      Buffer toHeld = to.hold();
      try {
        MemorySegment.copy(from.data, start, to.data, toStart, bytes);
      } finally {
        to.letGo(toHeld);
      }
    } finally {
      from.letGo(held);
    }
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

  /** The buffer below; null for types that have none. */
  public static Buffer buffer(Tensor t) {
    return t.buffer;
  }

  /** Whether {@code t} has a buffer to which nobody else has a reference. */
  public static boolean isUnshared(Tensor t) {
    return t.buffer != null && t.buffer.isUnshared();
  }

  /** Whether two tensors lie in one buffer. */
  public static boolean isSameBuffer(Tensor a, Tensor b) {
    return a.buffer == b.buffer;
  }
}
