package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * Whether each target is among the k best predictions of its row; a tie at the border counts as in.
 */
public final class InTopK {
  public static final Op OP =
      Op.define("InTopKV2")
          .attr("T: {int32, int64} = int32")
          .input("predictions: float")
          .input("targets: T")
          .input("k: T")
          .output("precision: bool")
          .shape(InTopK::infer)
          .kernel(c -> compute(c, Axis.single(c.input(2), "k")))
          .noGradient("truth values are not differentiable")
          .build();

  /** The older op, with k as an attribute. */
  public static final Op V1 =
      Op.define("InTopK")
          .attr("k: int")
          .attr("T: {int32, int64} = int32")
          .input("predictions: float")
          .input("targets: T")
          .output("precision: bool")
          .shape(InTopK::infer)
          .kernelPerNode(
              node -> {
                long k = node.longAttr("k");
                return c -> compute(c, k);
              })
          .noGradient("truth values are not differentiable")
          .build();

  private InTopK() {}

  /**
   * For each row of {@code predictions}, whether the class {@code targets} names is among its
   * {@code k} largest; ties count as among them.
   */
  public static Output of(Scope scope, Output predictions, Output targets, int k) {
    return scope.node(V1).input(predictions).input(targets).attr("k", k).add().output();
  }

  private static List<Shape> infer(ShapeContext c) {
    return List.of(Shape.of(c.inputOfRank(0, 2).dim(0)).mergeWith(c.inputOfRank(1, 1)));
  }

  private static void compute(KernelContext c, long k) {
    Tensor predictions = c.input(0);
    Tensor targets = c.input(1);
    Shape s = predictions.shape();
    if (s.rank() != 2 || targets.shape().rank() != 1 || s.dim(0) != targets.elements()) {
      throw MillraceException.invalid(
          "predictions must be a matrix and targets a vector with one entry for each of its rows;"
              + " they are %s and %s.",
          s, targets.shape());
    }
    Tensor out = c.allocate(0, targets.shape());
    long n = s.dim(1);
    MemorySegment p = predictions.data();
    for (long row = 0; row < targets.elements(); row++) {
      long target = targets.longAt(row);
      boolean in = target >= 0 && target < n;
      float at = in ? value(p, row * n + target) : 0;
      in &= Float.isFinite(at);
      long better = 0;
      for (long i = 0; in && i < n && better < k; i++) {
        float v = value(p, row * n + i);
        // A prediction that is no number makes the whole row meaningless.
        in = Float.isFinite(v);
        better += v > at ? 1 : 0;
      }
      out.setLong(row, in && better < k ? 1 : 0);
    }
  }

  private static float value(MemorySegment p, long i) {
    return p.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
  }
}
