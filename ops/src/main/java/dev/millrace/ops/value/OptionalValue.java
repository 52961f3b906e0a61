package dev.millrace.ops.value;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VariantValue;
import java.util.List;

/** The element of a variant tensor that holds some tensors, or none. */
public final class OptionalValue extends VariantValue {
  private static final String TYPE_NAME = "tensorflow::data::Optional";

  private final List<Tensor> components;

  /** Takes over one counted reference of each. */
  public OptionalValue(List<Tensor> components) {
    this.components = components;
  }

  /** Element {@code i} of a variant tensor, decoded if necessary; null if it is no optional. */
  public static OptionalValue at(Object[] values, int i) {
    synchronized (values) {
      if (values[i] instanceof VariantValue.Encoded e && e.typeName().equals(TYPE_NAME)) {
        values[i] = new OptionalValue(e.tensors().stream().map(Refs::retain).toList());
        e.release();
      }
      return values[i] instanceof OptionalValue v ? v : null;
    }
  }

  @Override
  public String typeName() {
    return TYPE_NAME;
  }

  @Override
  public byte[] metadata() {
    return new byte[] {(byte) (components.isEmpty() ? 0 : 1)};
  }

  @Override
  public List<Tensor> tensors() {
    return components;
  }

  @Override
  protected void free() {
    components.forEach(Refs::release);
  }
}
