package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/** Tensors joined along a dimension they have; all others must agree. */
public final class Concat {
  public static final Op OP =
      Op.define("ConcatV2")
          .attr("N: int >= 2")
          .attr("T: type")
          .attr("Tidx: {int32, int64} = int32")
          .input("values: N * T")
          .input("axis: Tidx")
          .output("output: T")
          .shape(c -> infer(c, 0, c.inputCount() - 1))
          .kernel(c -> compute(c, 0, c.inputCount() - 1))
          .gradient(g -> gradient(g, 0, g.node().inputCount() - 1))
          .build();

  /** The same with the dimension first. */
  public static final Op V1 =
      Op.define("Concat")
          .attr("N: int >= 2")
          .attr("T: type")
          .input("concat_dim: int32")
          .input("values: N * T")
          .output("output: T")
          .shape(c -> infer(c, 1, 0))
          .kernel(c -> compute(c, 1, 0))
          .gradient(g -> gradient(g, 1, 0))
          .build();

  /** Where each of the joined tensors begins in the result, as gradients ask. */
  public static final Op OFFSET =
      Op.define("ConcatOffset")
          .attr("N: int >= 2")
          .attr("shape_type: {int32, int64} = int32")
          .input("concat_dim: int32")
          .input("shape: N * shape_type")
          .output("offset: N * shape_type")
          .shape(
              c -> {
                List<Shape> s = new ArrayList<>();
                for (int i = 1; i < c.inputCount(); i++) {
                  s.add(c.inputOfRank(i, 1));
                }
                return s;
              })
          .kernel(Concat::offsets)
          .noGradient("offsets follow from shapes alone")
          .build();

  private Concat() {}

  /** Joined along dimension {@code axis}; a single tensor is given back as it is. */
  public static Output of(Scope scope, List<Output> values, int axis) {
    return values.size() == 1
        ? values.getFirst()
        : scope.node(OP).inputs(values).input(Const.of(scope, axis)).add().output();
  }

  private static List<Shape> infer(ShapeContext c, int first, int axisInput) {
    int n = c.inputCount() - 1;
    Tensor axis = c.constant(axisInput);
    int rank = -1;
    for (int i = first; i < first + n; i++) {
      Shape s = c.input(i);
      if (s.hasRank()) {
        if (rank >= 0 && rank != s.rank()) {
          throw MillraceException.invalid(
              "ranks differ: input %d has shape %s, one before it has rank %d.",
              i - first, s, rank);
        }
        rank = s.rank();
      }
    }
    if (rank < 0) {
      return List.of(Shape.unknown());
    }
    if (axis == null) {
      return List.of(Shape.unknownOfRank(rank));
    }
    int at = Axis.of(axis, rank);
    Shape rest = Shape.unknownOfRank(rank);
    long sum = 0;
    for (int i = first; i < first + n; i++) {
      Shape s = c.input(i);
      sum = sum < 0 || s.dim(at) < 0 ? -1 : sum + s.dim(at);
      rest = rest.mergeWith(s.hasRank() ? s.withDim(at, Shape.UNKNOWN) : s);
    }
    return List.of(rest.withDim(at, sum));
  }

  private static void compute(KernelContext c, int first, int axisInput) {
    int n = c.inputCount() - 1;
    Shape s = c.input(first).shape();
    int at = Axis.of(c.input(axisInput), s.rank());
    long sum = 0;
    for (int i = first; i < first + n; i++) {
      Shape x = c.input(i).shape();
      if (x.rank() != s.rank() || !x.withDim(at, s.dim(at)).equals(s)) {
        throw MillraceException.invalid(
            "dimensions of inputs must match but for dimension %d: shape[0] = %s, shape[%d] = %s.",
            at, s, i - first, x);
      }
      sum += x.dim(at);
    }
    Tensor out = c.allocate(0, s.withDim(at, sum));
    long outer = s.slice(0, at).elements();
    long inner = s.slice(at + 1, s.rank()).elements();
    long start = 0;
    for (int i = first; i < first + n; i++) {
      Tensor x = c.input(i);
      long run = x.shape().dim(at) * inner;
      Runs.interleave(outer, run, x, 0, run, out, start, sum * inner);
      start += run;
    }
  }

  private static void offsets(KernelContext c) {
    Tensor first = c.input(1);
    int at = Axis.of(c.input(0), Math.toIntExact(first.elements()));
    long sum = 0;
    for (int i = 1; i < c.inputCount(); i++) {
      Tensor shape = c.input(i);
      if (shape.shape().rank() != 1 || shape.elements() != first.elements()) {
        throw MillraceException.invalid(
            "input %d should contain %d elements, as the first does; it has shape %s.",
            i, first.elements(), shape.shape());
      }
      for (int k = 0; k < shape.elements(); k++) {
        if (k != at && shape.longAt(k) != first.longAt(k)) {
          throw MillraceException.invalid(
              "shapes must match but for dimension %d: dimension %d of the first is %d, of input"
                  + " %d it is %d.",
              at, k, first.longAt(k), i, shape.longAt(k));
        }
      }
      Tensor out = c.allocate(i - 1, shape.shape());
      for (int k = 0; k < shape.elements(); k++) {
        out.setLong(k, k == at ? sum : 0);
      }
      sum += shape.longAt(at);
    }
  }

  /** Each input gets its part of the gradient: by SplitV where sizes are known, else by Slice. */
  private static void gradient(GradientContext g, int first, int axisInput) {
    int n = g.node().inputCount() - 1;
    Scope s = g.scope();
    Output axis = MathNodes.cast(s, g.input(axisInput), DType.INT32);
    List<Output> inputs = g.node().inputs().subList(first, first + n);
    long[] sizes = sizes(inputs, new ShapeContext(g.node()).constant(axisInput));
    List<Output> parts;
    if (sizes != null) {
      parts = Split.of(s, g.dy(), sizes, axis);
    } else {
      List<Output> shapes = s.node(ShapeOf.N).inputs(inputs).add().outputs();
      List<Output> starts = s.node(OFFSET).input(axis).inputs(shapes).add().outputs();
      Output dy = g.dy();
      parts = new ArrayList<>();
      for (int i = 0; i < n; i++) {
        parts.add(Slice.of(s, dy, starts.get(i), shapes.get(i)));
      }
    }
    for (int i = 0; i < n; i++) {
      parts.get(i).refineShape(inputs.get(i).shape());
      g.dx(first + i, parts.get(i));
    }
  }

  /** The sizes along the joined dimension, or null if one is not known. */
  private static long[] sizes(List<Output> inputs, Tensor axis) {
    long[] sizes = new long[inputs.size()];
    for (int i = 0; i < sizes.length && axis != null; i++) {
      Shape s = inputs.get(i).shape();
      sizes[i] = s.hasRank() ? s.dim(Axis.of(axis, s.rank())) : Shape.UNKNOWN;
      axis = sizes[i] < 0 ? null : axis;
    }
    return axis == null ? null : sizes;
  }
}
