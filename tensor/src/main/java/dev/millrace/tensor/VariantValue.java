package dev.millrace.tensor;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An element of a variant tensor: a value of a named kind, which may hold tensors. It counts the
 * tensors that contain it; code that copies an element to another tensor retains it.
 */
public abstract class VariantValue {
  private final AtomicInteger holders = new AtomicInteger(1);

  /** TensorFlow's name of the kind, used on the wire. */
  public abstract String typeName();

  /** The value without its tensors, in TensorFlow's encoding of the kind. */
  public abstract byte[] metadata();

  /** The tensors it holds. */
  public abstract List<Tensor> tensors();

  /** Releases the tensors it holds. */
  protected abstract void free();

  /** Counts one more tensor that contains it. Returns this. */
  public final VariantValue retain() {
    holders.incrementAndGet();
    return this;
  }

  /** Counts one tensor less; releases the value with the last. */
  public final void release() {
    if (holders.decrementAndGet() == 0) {
      free();
    }
  }

  /** Whether more than one tensor contains it, so that it must not be changed in place. */
  public final boolean isShared() {
    return holders.get() > 1;
  }

  /** A scalar tensor of {@code value}, with one counted reference; takes over one of its counts. */
  public static Tensor tensor(VariantValue value) {
    return Refs.ofObjects(DType.VARIANT, Shape.scalar(), new Object[] {value});
  }

  static void releaseAll(Object[] elements) {
    for (Object o : elements) {
      release(o);
    }
  }

  private static void release(Object o) {
    if (o instanceof VariantValue v) {
      v.release();
    }
  }

  /** Copies one element of a tensor of objects to another, counting it there. */
  static void copy(Object[] from, int i, Object[] to, int j) {
    Object value = from[i];
    if (value instanceof VariantValue v) {
      v.retain();
    }
    release(to[j]);
    to[j] = value;
  }

  /** A value received from another process and not decoded yet. */
  public static final class Encoded extends VariantValue {
    private final String typeName;
    private final byte[] metadata;
    private final List<Tensor> tensors;

    /** Takes over one counted reference of each tensor. */
    public Encoded(String typeName, byte[] metadata, List<Tensor> tensors) {
      this.typeName = typeName;
      this.metadata = metadata;
      this.tensors = List.copyOf(tensors);
    }

    @Override
    public String typeName() {
      return typeName;
    }

    @Override
    public byte[] metadata() {
      return metadata;
    }

    @Override
    public List<Tensor> tensors() {
      return tensors;
    }

    @Override
    protected void free() {
      Refs.releaseAll(tensors);
    }
  }
}
