package dev.millrace.tensor.math.elementwise;

import static dev.millrace.tensor.math.elementwise.Formula.choose;
import static dev.millrace.tensor.math.elementwise.Formula.input;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.lanes.LaneType;
import java.util.Arrays;

/**
 * Functions applied element by element. Operands broadcast to the shape of the result, which the
 * caller has allocated; the result may share memory with an operand of its own shape. Types without
 * vector arithmetic of their own, such as half, are computed in a wider one and rounded at the end.
 *
 * <p>Threading: large loops are split over the threads of {@link Parallel}.
 */
public final class Elementwise {
  private static final double[] NONE = {};

  /** Sums of 2, 3, ... operands. */
  private static final Recipe[] SUMS = new Recipe[9];

  private static final Recipe SELECT =
      Recipe.map(3, choose(new Condition.Flag(0), input(1), input(2)));

  /** By comparisons, so that a limit that is NaN is none. */
  private static final Recipe CLIP;

  static {
    Formula above = choose(input(2).is(Formula.Relation.LT, input(0)), input(2), input(0));
    CLIP = Recipe.map(3, choose(above.is(Formula.Relation.LT, input(1)), input(1), above));
    Formula sum = input(0);
    for (int n = 2; n < SUMS.length; n++) {
      sum = sum.plus(input(n - 1));
      SUMS[n] = Recipe.map(n, sum);
    }
  }

  private Elementwise() {}

  /** {@code out = op(x)}. */
  public static void unary(UnaryOp op, Tensor x, Tensor out) {
    require(op.supports(x.dtype()), op, x.dtype());
    if (x.dtype().isComplex()) {
      ComplexLoop.unary(op.complex(), x, out);
      return;
    }
    compute(lane -> op.recipe(lane, x.dtype()), x.dtype(), out, x);
  }

  /** {@code out = op(x, y)}. */
  public static void binary(BinaryOp op, Tensor x, Tensor y, Tensor out) {
    require(op.supports(x.dtype()), op, x.dtype());
    if (x.dtype().isComplex()) {
      ComplexLoop.binary(op.complex(), x, y, out);
      return;
    }
    compute(lane -> op.recipe(lane, x.dtype()), x.dtype(), out, x, y);
  }

  /** {@code out = op(x, y)}, a bool tensor. */
  public static void compare(Comparison op, Tensor x, Tensor y, Tensor out) {
    DType type = x.dtype();
    if (type == DType.STRING) {
      compareStrings(op, x, y, out);
      return;
    }
    if (type.isComplex()) {
      require(op == Comparison.EQUAL || op == Comparison.NOT_EQUAL, op, type);
      ComplexLoop.equal(op == Comparison.EQUAL, x, y, out);
      return;
    }
    require(type.isFloating() || type.isIntegral() || type == DType.BOOL, op, type);
    compute(_ -> op.recipe(type), type, out, x, y);
  }

  /** {@code out = op(x)}, a bool tensor. */
  public static void test(NumberTest op, Tensor x, Tensor out) {
    require(x.dtype().isFloating(), op, x.dtype());
    compute(_ -> op.recipe, x.dtype(), out, x);
  }

  /** The sum of the inputs, which all have the shape of {@code out}. */
  public static void addN(Tensor[] inputs, Tensor out) {
    DType type = out.dtype();
    if (type.isComplex()) {
      addParts(inputs, out);
      return;
    }
    require(type.isFloating() || type.isIntegral(), "ADD_N", type);
    if (inputs.length == 1) {
      TensorFill.copy(inputs[0], out);
      return;
    }
    if (LaneType.of(type) == null) {
      // All in the wider type, so that it is rounded once.
      DType wide = LaneType.computedAs(type);
      Tensor[] wider = new Tensor[inputs.length];
      Tensor sum = Refs.allocate(wide, out.shape());
      try {
        for (int i = 0; i < inputs.length; i++) {
          wider[i] = Refs.allocate(wide, out.shape());
          ElementCast.run(inputs[i], wider[i]);
        }
        addN(wider, sum);
        ElementCast.run(sum, out);
      } finally {
        release(wider);
        Refs.release(sum);
      }
      return;
    }
    // The result may be the memory of any input: none may be read after the first write.
    int most = SUMS.length - 1;
    Tensor first = inputs.length > most ? Refs.allocate(type, out.shape()) : out;
    for (int done = 0; done < inputs.length; ) {
      boolean start = done == 0;
      int take = Math.min(inputs.length - done, start ? most : most - 1);
      Tensor[] group = new Tensor[take + (start ? 1 : 2)];
      System.arraycopy(inputs, done, group, start ? 0 : 1, take);
      if (!start) {
        group[0] = first;
      }
      done += take;
      group[group.length - 1] = done == inputs.length ? out : first;
      Walk.run(out.shape(), SUMS[group.length - 1], LaneType.of(type), NONE, group);
    }
    if (first != out) {
      Refs.release(first);
    }
  }

  private static void addParts(Tensor[] inputs, Tensor out) {
    Tensor[] parts = new Tensor[inputs.length];
    Tensor sum = Refs.parts(out);
    try {
      for (int i = 0; i < inputs.length; i++) {
        parts[i] = Refs.parts(inputs[i]);
      }
      addN(parts, sum);
    } finally {
      release(parts);
      Refs.release(sum);
    }
  }

  /**
   * {@code x} limited to the range from {@code low} to {@code high}; low wins. NaN stays NaN, and
   * is no limit.
   */
  public static void clip(Tensor x, Tensor low, Tensor high, Tensor out) {
    require(x.dtype().isFloating() || x.dtype().isIntegral(), "CLIP", x.dtype());
    compute(_ -> CLIP, x.dtype(), out, x, low, high);
  }

  /** {@code yes} where {@code condition}, else {@code no}; all three broadcast. */
  public static void select(Tensor condition, Tensor yes, Tensor no, Tensor out) {
    LaneType lane = LaneType.ofBytes(out.dtype().bytes());
    if (lane != null) {
      Walk.run(out.shape(), SELECT, lane, NONE, condition, yes, no, out);
      return;
    }
    BroadcastIndex test = new BroadcastIndex(condition.shape(), out.shape());
    BroadcastIndex left = new BroadcastIndex(yes.shape(), out.shape());
    BroadcastIndex right = new BroadcastIndex(no.shape(), out.shape());
    for (long i = 0; i < out.elements(); i++) {
      boolean chosen = condition.booleanAt(test.of(i));
      TensorFill.copyElement(chosen ? yes : no, (chosen ? left : right).of(i), out, i);
    }
  }

  /**
   * Select as TensorFlow 1 has it: a condition that is a vector chooses whole rows of {@code yes}
   * and {@code no}, which have the shape of the result.
   */
  public static void selectRows(Tensor condition, Tensor yes, Tensor no, Tensor out) {
    int rank = out.shape().rank();
    if (condition.shape().rank() != 1 || rank <= 1) {
      select(condition, yes, no, out);
      return;
    }
    long[] dims = new long[rank];
    Arrays.fill(dims, 1);
    dims[0] = condition.elements();
    Tensor column = Refs.reshaped(condition, Shape.of(dims));
    try {
      select(column, yes, no, out);
    } finally {
      Refs.release(column);
    }
  }

  /** The recipe for elements of some lane type. */
  private interface Choice {
    Recipe recipe(LaneType lane);
  }

  private static void compute(Choice choice, DType type, Tensor out, Tensor... inputs) {
    LaneType lane = LaneType.of(type);
    if (lane == null) {
      computeWider(choice, LaneType.computedAs(type), out, inputs);
      return;
    }
    int n = inputs.length;
    Tensor[] operands = Arrays.copyOf(inputs, n + 1);
    operands[n] = out;
    Walk.run(out.shape(), choice.recipe(lane), lane, NONE, operands);
  }

  private static void computeWider(Choice choice, DType wide, Tensor out, Tensor[] inputs) {
    Tensor[] wider = new Tensor[inputs.length + 1];
    try {
      for (int i = 0; i < inputs.length; i++) {
        wider[i] = Refs.allocate(wide, inputs[i].shape());
        ElementCast.run(inputs[i], wider[i]);
      }
      Tensor[] operands = Arrays.copyOf(wider, inputs.length);
      if (out.dtype() == DType.BOOL) {
        compute(choice, wide, out, operands);
      } else {
        Tensor result = Refs.allocate(wide, out.shape());
        wider[inputs.length] = result;
        compute(choice, wide, result, operands);
        ElementCast.run(result, out);
      }
    } finally {
      release(wider);
    }
  }

  private static void release(Tensor[] tensors) {
    for (Tensor t : tensors) {
      if (t != null) {
        Refs.release(t);
      }
    }
  }

  private static void compareStrings(Comparison op, Tensor x, Tensor y, Tensor out) {
    require(op == Comparison.EQUAL || op == Comparison.NOT_EQUAL, op, x.dtype());
    BroadcastIndex left = new BroadcastIndex(x.shape(), out.shape());
    BroadcastIndex right = new BroadcastIndex(y.shape(), out.shape());
    for (long i = 0; i < out.elements(); i++) {
      boolean same = Arrays.equals(x.bytesAt(left.of(i)), y.bytesAt(right.of(i)));
      out.setLong(i, same == (op == Comparison.EQUAL) ? 1 : 0);
    }
  }

  private static void require(boolean supported, Object op, DType type) {
    if (!supported) {
      throw new MillraceException(
          Code.UNIMPLEMENTED, op + " is not defined for elements of type " + type + ".");
    }
  }
}
