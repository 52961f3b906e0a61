package dev.millrace.ops.nn;

import static dev.millrace.ops.math.Arithmetic.mul;
import static dev.millrace.ops.math.Arithmetic.sub;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.reduce.Softmax;

/** Softmax and its logarithm, over the last dimension. */
public final class SoftmaxOps {
  public static final Op SOFTMAX =
      define("Softmax", "softmax", false)
          .gradient(
              g -> {
                Scope s = g.scope();
                Output y = g.output(0);
                g.dx(0, mul(s, sub(s, g.dy(), rowSum(s, mul(s, g.dy(), y))), y));
              })
          .build();

  public static final Op LOG_SOFTMAX =
      define("LogSoftmax", "logsoftmax", true)
          .gradient(
              g -> {
                Scope s = g.scope();
                Output softmax = Unary.exp(s, g.output(0));
                g.dx(0, sub(s, g.dy(), mul(s, rowSum(s, g.dy()), softmax)));
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
    return Reduction.sum(s, x, Const.ints(s, -1), true);
  }
}
