package dev.millrace.ops.nn;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.Shapes;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Softmax;

/** Softmax and its logarithm, over the last dimension. */
public final class SoftmaxOps {
  public static final Op SOFTMAX =
      define("Softmax", "softmax", false)
          .gradient(
              g -> {
                Scope s = g.scope();
                Output y = g.output(0);
                Output weighted = s.node("Mul").input(g.dy()).input(y).add().output();
                Output centred =
                    s.node("Sub").input(g.dy()).input(rowSum(s, weighted)).add().output();
                g.dx(0, s.node("Mul").input(centred).input(y).add().output());
              })
          .build();

  public static final Op LOG_SOFTMAX =
      define("LogSoftmax", "logsoftmax", true)
          .gradient(
              g -> {
                Scope s = g.scope();
                Output softmax = s.node("Exp").input(g.output(0)).add().output();
                Output shared =
                    s.node("Mul").input(rowSum(s, g.dy())).input(softmax).add().output();
                g.dx(0, s.node("Sub").input(g.dy()).input(shared).add().output());
              })
          .build();

  private SoftmaxOps() {}

  /** {@code exp(x) / sum(exp(x))} over the last dimension. */
  public static Output softmax(Scope scope, Output logits) {
    return scope.add(SOFTMAX, logits).output();
  }

  /** The logarithm of {@link #softmax}, without its rounding and underflow. */
  public static Output logSoftmax(Scope scope, Output logits) {
    return scope.add(LOG_SOFTMAX, logits).output();
  }

  private static Op.Builder define(String name, String output, boolean log) {
    return Op.define(name)
        .attr("T: {half, bfloat16, float, double}")
        .input("logits: T")
        .output(output + ": T")
        .shape(
            c -> {
              checkRank(c.input(0));
              return Shapes.like(0).infer(c);
            })
        .kernel(
            c -> {
              Tensor x = c.input(0);
              checkRank(x.shape());
              long cols = x.shape().dim(-1);
              long rows = cols == 0 ? 0 : x.elements() / cols;
              if (log) {
                Softmax.logSoftmax(x, c.allocate(0, x.shape()), rows, cols);
              } else {
                Softmax.softmax(x, c.allocateOrReuse(0, 0, x.shape()), rows, cols);
              }
            });
  }

  private static void checkRank(Shape s) {
    if (s.isScalar()) {
      throw MillraceException.invalid("logits must have >= 1 dimension, got %s", s);
    }
  }

  /** Sums over the last dimension, which stays as 1. */
  static Output rowSum(Scope s, Output x) {
    return s.node("Sum")
        .input(x)
        .input(Const.of(s, Tensor.vector(-1)))
        .attr("keep_dims", true)
        .add()
        .output();
  }
}
