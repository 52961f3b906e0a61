package dev.millrace.ops.scatter;

import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Coordinates;
import dev.millrace.ops.array.GatherNd;
import dev.millrace.ops.array.ScatterNd;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.Unary;
import dev.millrace.ops.state.RowChange;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** A tensor with the slices at coordinates changed; the tensor that was given stays as it is. */
final class TensorScatter {
  private static final String WIDE = "{int32, int64}";

  static final List<Op> ALL =
      List.of(
          tensor(
              "Update", "{int16, int32, int64, uint16}", RowChange.UPDATE, TensorScatter::ofUpdate),
          tensor("Add", WIDE, RowChange.ADD, g -> ofSum(g, false)),
          tensor("Sub", WIDE, RowChange.SUB, g -> ofSum(g, true)),
          tensor("Min", WIDE, RowChange.MIN, TensorScatter::ofExtreme),
          tensor("Max", WIDE, RowChange.MAX, TensorScatter::ofExtreme),
          define(
              Op.define("ScatterNdNonAliasingAdd")
                  .attr(
                      "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8,"
                          + " quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half,"
                          + " uint32, uint64, bool}"),
              "input",
              WIDE,
              RowChange.ADD,
              g -> ofSum(g, false)));

  private TensorScatter() {}

  private static Op tensor(String label, String indices, RowChange change, Gradient gradient) {
    Op.Builder op = Op.define("TensorScatter" + label).attr("T: type");
    return define(op, "tensor", indices, change, gradient);
  }

  private static Op define(
      Op.Builder op, String target, String indices, RowChange change, Gradient gradient) {
    return op.attr("Tindices: " + indices)
        .attr("bad_indices_policy: string = ''")
        .input(target + ": T")
        .input("indices: Tindices")
        .input("updates: T")
        .output("output: T")
        .shape(
            c -> {
              SliceUpdates.check(c.node(), c.input(0), c.input(1), c.input(2));
              return List.of(c.input(0));
            })
        .kernelPerNode(node -> kernel(node, change))
        .gradient(gradient)
        .build();
  }

  private static Kernel kernel(Node node, RowChange change) {
    SliceUpdates updates = new SliceUpdates(node, change, node.output(0).dtype());
    return c -> {
      Tensor x = c.input(0);
      Tensor y = c.allocateOrReuse(0, 0, x.shape());
      if (y.dtype().isPlain() ? !y.data().equals(x.data()) : y.objects() != x.objects()) {
        StridedCopy.copyRun(x, 0, y, 0, x.elements());
      }
      updates.apply(y, c.input(1), c.input(2));
    };
  }

  /** Nothing goes back to slices that were replaced. */
  private static void ofUpdate(GradientContext g) {
    Scope s = g.scope();
    Output none = ZerosLike.of(s, g.input(2));
    Output rest =
        s.node("TensorScatterUpdate").input(g.dy()).input(g.input(1)).input(none).add().output();
    g.dx(0, rest);
    g.dx(2, GatherNd.of(s, g.dy(), g.input(1)));
  }

  private static void ofSum(GradientContext g, boolean negative) {
    g.pass(0, 0);
    Output picked = GatherNd.of(g.scope(), g.dy(), g.input(1));
    g.dx(2, negative ? Unary.neg(g.scope(), picked) : picked);
  }

  /** Shared evenly by all that have the value that came out. */
  private static void ofExtreme(GradientContext g) {
    Scope s = g.scope();
    Output at = g.input(1);
    Output fromTarget = equal(s, g.input(0), g.output(0));
    Output fromUpdates = equal(s, g.input(2), GatherNd.of(s, g.output(0), at));
    Output shape = Coordinates.shapeFor(s, g.input(0), at);
    Output count = Arithmetic.add(s, fromTarget, ScatterNd.of(s, at, fromUpdates, shape));
    Output share = Arithmetic.realDiv(s, g.dy(), count);
    g.dx(0, Arithmetic.mul(s, share, fromTarget));
    g.dx(2, Arithmetic.mul(s, GatherNd.of(s, share, at), fromUpdates));
  }

  /** 1 where both are equal, else 0. */
  private static Output equal(Scope s, Output x, Output y) {
    return Cast.of(s, s.add(Comparisons.EQUAL, x, y).output(), x.dtype());
  }
}
