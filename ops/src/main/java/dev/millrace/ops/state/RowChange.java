package dev.millrace.ops.state;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;
import dev.millrace.tensor.math.elementwise.AddScaled;
import dev.millrace.tensor.math.elementwise.BinaryOp;

/** What a scatter does to a row: replaces it, or combines it with an update. */
public enum RowChange {
  UPDATE("Update", null),
  ADD("Add", null),
  SUB("Sub", null),
  MUL("Mul", BinaryOp.MUL),
  DIV("Div", BinaryOp.DIV),
  MIN("Min", BinaryOp.LOWER),
  MAX("Max", BinaryOp.RAISE);

  private final String label;
  private final BinaryOp op;

  RowChange(String label, BinaryOp op) {
    this.label = label;
    this.op = op;
  }

  /** The end of the name of TensorFlow's ops for it. */
  public String label() {
    return label;
  }

  /** Whether {@link #apply} can change elements of this type. */
  public boolean supports(DType type) {
    return switch (this) {
      case UPDATE -> true;
      case ADD, SUB -> DType.NUMERIC.contains(type);
      default -> DType.REAL.contains(type) || op.supports(type);
    };
  }

  /**
   * Changes {@code n} elements of {@code target} from {@code to} on by those of {@code updates}.
   */
  public void apply(Tensor target, long to, Tensor updates, long from, long n) {
    switch (this) {
      case UPDATE -> StridedCopy.copyRun(updates, from, target, to, n);
      case ADD -> AddScaled.to(target, to, updates, from, n, 1);
      case SUB -> AddScaled.to(target, to, updates, from, n, -1);
      default -> combine(target, to, updates, from, n);
    }
  }

  private void combine(Tensor target, long to, Tensor with, long from, long n) {
    DType type = target.dtype();
    boolean real = type.isFloating();
    for (long k = 0; k < n; k++) {
      if (type.isComplex()) {
        Complex x = ComplexElements.at(type, target.data(), to + k);
        Complex y = ComplexElements.at(type, with.data(), from + k);
        ComplexElements.set(type, target.data(), to + k, op.complex().apply(x, y));
      } else if (real) {
        target.setDouble(to + k, op.of(target.doubleAt(to + k), with.doubleAt(from + k)));
      } else {
        target.setLong(to + k, op.of(type, target.longAt(to + k), with.longAt(from + k)));
      }
    }
  }
}
