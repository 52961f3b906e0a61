package dev.millrace.tensor;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An element of a variant tensor: a value of a kind of its own, which may hold tensors. It counts
 * the tensors it is an element of; who copies an element from one to another retains it.
 */
public abstract class VariantValue {
  private final AtomicInteger holders = new AtomicInteger(1);

  /** TensorFlow's name of the kind, by which other processes know it. */
  public abstract String typeName();

  /** All there is to it but the tensors, in the form TensorFlow has for the kind. */
  public abstract byte[] metadata();

  /** The tensors it holds. */
  public abstract List<Tensor> tensors();

  /** Lets go of the tensors it holds. */
  protected abstract void free();

  /** Notes one more tensor that has it for an element. Returns this. */
  public final VariantValue retain() {
    holders.incrementAndGet();
    return this;
  }

  /** Notes one less. */
  public final void release() {
    if (holders.decrementAndGet() == 0) {
      free();
    }
  }

  /** Whether it is an element of more than one tensor, and must not be changed for one of them. */
  public final boolean isShared() {
    return holders.get() > 1;
  }

  /** A scalar tensor of {@code value}, with one counted reference; takes over one of its counts. */
  public static Tensor tensor(VariantValue value) {
    return Tensor.ofObjects(DType.VARIANT, Shape.scalar(), new Object[] {value});
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

  /** A value as it came from another process, of a kind that nobody has asked for yet. */
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
      tensors.forEach(Tensor::release);
    }
  }
}
