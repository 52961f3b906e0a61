package dev.millrace.ops.nn;

import static dev.millrace.ops.math.Arithmetic.add;
import static dev.millrace.ops.math.Arithmetic.mul;
import static dev.millrace.ops.math.Arithmetic.sub;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.BroadcastGradient;
import dev.millrace.ops.array.ExpandDims;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.reduce.Softmax;
import java.util.List;

/**
 * Softmax and cross entropy in one: outputs the loss of each row and, as it falls off on the way,
 * the gradient of that loss by the logits.
 */
public final class CrossEntropy {
  public static final Op DENSE =
      Op.define("SoftmaxCrossEntropyWithLogits")
          .attr("T: {half, bfloat16, float, double}")
          .input("features: T")
          .input("labels: T")
          .output("loss: T")
          .output("backprop: T")
          .shape(
              c -> {
                Shape both = matrix(Shape.broadcast(c.input(0), c.input(1)));
                both = both.hasRank() ? both : Shape.unknownOfRank(2);
                return List.of(both.slice(0, 1), both);
              })
          .kernel(CrossEntropy::dense)
          .gradient(
              g -> {
                Scope s = g.scope();
                Output x = g.input(0);
                Output labels = g.input(1);
                Output log = SoftmaxOps.logSoftmax(s, x);
                Output byLabels = timesRows(s, g.dy(0), Unary.neg(s, log));
                if (g.hasGradient(1)) {
                  byLabels = sub(s, byLabels, g.dy(1));
                }
                g.dx(0, reduced(s, byLogits(g), x, labels));
                g.dx(1, reduced(s, byLabels, labels, x));
              })
          .build();

  public static final Op SPARSE =
      Op.define("SparseSoftmaxCrossEntropyWithLogits")
          .attr("T: {half, bfloat16, float, double}")
          .attr("Tlabels: {int32, int64} = int64")
          .input("features: T")
          .input("labels: Tlabels")
          .output("loss: T")
          .output("backprop: T")
          .shape(
              c -> {
                Shape logits = c.inputOfRank(0, 2);
                Shape labels = c.inputOfRank(1, 1).mergeWith(logits.slice(0, 1));
                return List.of(labels, logits.withDim(0, labels.dim(0)));
              })
          .kernel(CrossEntropy::sparse)
          .gradient(g -> g.dx(0, byLogits(g)))
          .build();

  private CrossEntropy() {}

  /** The loss of each row of {@code logits} against a distribution per row. */
  public static Output of(Scope scope, Output logits, Output labels) {
    return scope.add(DENSE, logits, labels).output(0);
  }

  /** The loss of each row of {@code logits} against the index of its class. */
  public static Output sparse(Scope scope, Output logits, Output labels) {
    return scope.add(SPARSE, logits, labels).output(0);
  }

  private static Shape matrix(Shape s) {
    if (s.hasRank() && s.rank() != 2) {
      throw MillraceException.invalid(
          "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional;"
              + " together they are %s.",
          s);
    }
    return s;
  }

  private static void dense(KernelContext c) {
    Tensor x = c.input(0);
    Tensor labels = c.input(1);
    Shape s = x.shape();
    if (s.equals(labels.shape()) && s.rank() == 2) {
      Softmax.crossEntropy(
          x, labels, c.allocate(0, s.slice(0, 1)), c.allocate(1, s), s.dim(0), s.dim(1));
      return;
    }
    s = matrix(Shape.broadcast(s, labels.shape()));
    Tensor wideX = expanded(x, s);
    Tensor wideLabels = expanded(labels, s);
    try {
      Softmax.crossEntropy(
          wideX, wideLabels, c.allocate(0, s.slice(0, 1)), c.allocate(1, s), s.dim(0), s.dim(1));
    } finally {
      Refs.release(wideX);
      Refs.release(wideLabels);
    }
  }

  /** {@code t} repeated to a matrix of shape {@code s}; the rare case, so element by element. */
  private static Tensor expanded(Tensor t, Shape s) {
    Tensor out = Refs.allocate(t.dtype(), s);
    Shape from = t.shape();
    long rowStep = from.rank() == 2 && from.dim(0) > 1 ? from.dim(1) : 0;
    long colStep = from.rank() >= 1 && from.dim(-1) > 1 ? 1 : 0;
    for (long r = 0; r < s.dim(0); r++) {
      for (long c = 0; c < s.dim(1); c++) {
        out.setDouble(r * s.dim(1) + c, t.doubleAt(r * rowStep + c * colStep));
      }
    }
    return out;
  }

  private static void sparse(KernelContext c) {
    Tensor x = c.input(0);
    Tensor labels = c.input(1);
    Shape s = x.shape();
    if (s.rank() != 2) {
      throw MillraceException.invalid("logits must be 2-D, but got shape %s", s);
    }
    if (labels.shape().rank() != 1 || labels.elements() != s.dim(0)) {
      throw MillraceException.invalid(
          "logits and labels must have the same first dimension, got logits shape %s and labels"
              + " shape %s",
          s, labels.shape());
    }
    if (s.dim(1) == 0) {
      throw MillraceException.invalid("Must have at least one class, but got logits shape %s", s);
    }
    for (long r = 0; r < s.dim(0); r++) {
      long label = labels.longAt(r);
      if (label < 0 || label >= s.dim(1)) {
        throw MillraceException.invalid(
            "Received a label value of %d which is outside the valid range of [0, %d). "
                + " It is label %d of %d.",
            label, s.dim(1), r, s.dim(0));
      }
    }
    Tensor loss = c.allocate(0, labels.shape());
    Softmax.sparseCrossEntropy(x, labels, loss, c.allocateOrReuse(1, 0, s), s.dim(0), s.dim(1));
  }

  private static Output byLogits(GradientContext g) {
    Scope s = g.scope();
    Output gradient = timesRows(s, g.dy(0), g.output(1));
    if (g.hasGradient(1)) {
      gradient = add(s, gradient, secondOrder(s, g.node(), g.dy(1)));
    }
    return gradient;
  }

  /** As TensorFlow, takes both to have one shape where the graph does not say otherwise. */
  private static Output reduced(Scope s, Output dx, Output x, Output other) {
    return x.shape().isCompatibleWith(other.shape())
        ? dx
        : BroadcastGradient.reduce(s, dx, x, other);
  }

  /** What comes back through the backprop output: {@code (d - sum(d * p)) * p} with p = softmax. */
  private static Output secondOrder(Scope s, Node node, Output d) {
    Output p = SoftmaxOps.softmax(s, node.input(0));
    return mul(s, sub(s, d, SoftmaxOps.rowSum(s, mul(s, d, p))), p);
  }

  /** Each row of {@code matrix} times its element of {@code vector}. */
  private static Output timesRows(Scope s, Output vector, Output matrix) {
    return mul(s, ExpandDims.of(s, vector, -1), matrix);
  }
}
