package dev.millrace.ops.math;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.BroadcastGradient;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.StridedCopy;
import dev.millrace.tensor.math.elementwise.Elementwise;
import dev.millrace.tensor.math.elementwise.UnaryOp;
import dev.millrace.tensor.math.gemm.Gemm;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Products of many matrices at once: the last two dimensions are those of a matrix, the ones before
 * say which. In V2 they broadcast; in the older op they must be equal.
 */
public final class BatchMatMul {
  public static final Op OP =
      define(
          "BatchMatMulV2",
          "T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, uint64,"
              + " complex64, complex128}",
          true);

  /** The same without broadcasting. */
  public static final Op V1 =
      define(
          "BatchMatMul",
          "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}",
          false);

  /** Multiplications worth handing a matrix to another thread. */
  private static final long MIN_WORK = 250_000;

  private BatchMatMul() {}

  private static Op define(String name, String types, boolean broadcasts) {
    return Op.define(name)
        .attr(types)
        .attr("adj_x: bool = false")
        .attr("adj_y: bool = false")
        .attr("grad_x: bool = false")
        .attr("grad_y: bool = false")
        .input("x: T")
        .input("y: T")
        .output("output: T")
        .shape(
            c ->
                List.of(
                    product(
                        c.input(0),
                        c.input(1),
                        c.node().booleanAttr("adj_x"),
                        c.node().booleanAttr("adj_y"),
                        broadcasts)))
        .kernelPerNode(node -> kernel(node, broadcasts))
        .gradient(BatchMatMul::gradient)
        .build();
  }

  /**
   * The products of the matrices in the last two dimensions; the others are repeated to fit. {@code
   * adjX} and {@code adjY} take an adjoint first.
   */
  public static Output of(Scope scope, Output x, Output y, boolean adjX, boolean adjY) {
    return of(scope, OP, x, y, adjX, adjY);
  }

  private static Output of(Scope scope, Op op, Output x, Output y, boolean adjX, boolean adjY) {
    return scope.node(op).input(x).input(y).attr("adj_x", adjX).attr("adj_y", adjY).add().output();
  }

  private static Shape product(Shape x, Shape y, boolean ax, boolean ay, boolean broadcasts) {
    if (!x.hasRank() || !y.hasRank()) {
      return Shape.unknown();
    }
    if (x.rank() < 2 || y.rank() < 2) {
      throw MillraceException.invalid(
          "both inputs must have rank 2 or more: x is %s, y is %s.", x, y);
    }
    long inner = x.dim(ax ? -2 : -1);
    long other = y.dim(ay ? -1 : -2);
    if (inner >= 0 && other >= 0 && inner != other) {
      throw MillraceException.invalid(
          "inner dimensions differ: x is %s%s, y is %s%s; %d against %d.",
          x, ax ? " (adjoint)" : "", y, ay ? " (adjoint)" : "", inner, other);
    }
    Shape bx = x.slice(0, x.rank() - 2);
    Shape by = y.slice(0, y.rank() - 2);
    Shape batch = broadcasts ? Shape.broadcast(bx, by) : bx.mergeWith(by);
    return batch.concat(Shape.of(x.dim(ax ? -1 : -2), y.dim(ay ? -2 : -1)));
  }

  private static Kernel kernel(Node node, boolean broadcasts) {
    DType type = node.output(0).dtype();
    Refusal.unless(MatMul.supports(type), node, type);
    boolean ax = node.booleanAttr("adj_x");
    boolean ay = node.booleanAttr("adj_y");
    return c -> {
      Tensor x = adjointOf(c.input(0), ax);
      Tensor y = adjointOf(c.input(1), ay);
      try {
        Tensor z = c.allocate(0, product(x.shape(), y.shape(), ax, ay, broadcasts));
        multiply(x, y, z, ax, ay);
      } finally {
        Refs.release(x);
        Refs.release(y);
      }
    };
  }

  /** A counted tensor of the matrices, or of their conjugates if adjoints are wanted. */
  private static Tensor adjointOf(Tensor t, boolean adjoint) {
    if (!adjoint || !t.dtype().isComplex()) {
      return Refs.retain(t);
    }
    Tensor conjugate = Refs.allocate(t.dtype(), t.shape());
    Elementwise.unary(UnaryOp.CONJ, t, conjugate);
    return conjugate;
  }

  private static void multiply(Tensor x, Tensor y, Tensor z, boolean tx, boolean ty) {
    if (z.elements() == 0) {
      return;
    }
    Shape s = z.shape();
    int m = Math.toIntExact(s.dim(-2));
    int n = Math.toIntExact(s.dim(-1));
    int k = Math.toIntExact(x.shape().dim(tx ? -2 : -1));
    Gemm gemm = Gemm.of(z.dtype(), tx, ty, m, n, k);
    Shape batch = s.slice(0, s.rank() - 2);
    long[] xs = steps(x.shape(), batch);
    long[] ys = steps(y.shape(), batch);
    long grain = 1 + MIN_WORK / Math.max(1, (long) m * n * k);
    Parallel.run(
        batch.elements(),
        grain,
        (from, to) -> {
          for (long i = from; i < to; i++) {
            gemm.multiply(
                matrix(x, (long) m * k, at(i, batch, xs)),
                matrix(y, (long) k * n, at(i, batch, ys)),
                matrix(z, (long) m * n, i),
                false);
          }
        });
  }

  /** How many matrices further each dimension of the batch leads in an operand. */
  private static long[] steps(Shape operand, Shape batch) {
    return StridedCopy.broadcast(operand.slice(0, operand.rank() - 2), batch);
  }

  private static long at(long i, Shape batch, long[] steps) {
    long at = 0;
    for (int d = steps.length - 1; d >= 0; d--) {
      at += i % batch.dim(d) * steps[d];
      i /= batch.dim(d);
    }
    return at;
  }

  private static MemorySegment matrix(Tensor t, long elements, long index) {
    long bytes = elements * t.dtype().bytes();
    return t.data().asSlice(index * bytes, bytes);
  }

  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Op op = g.node().op();
    Output x = g.input(0);
    Output y = g.input(1);
    Output dz = g.dy();
    boolean ax = g.node().booleanAttr("adj_x");
    boolean ay = g.node().booleanAttr("adj_y");
    Output dx = ax ? of(s, op, y, dz, ay, true) : of(s, op, dz, y, false, !ay);
    Output dy = ay ? of(s, op, dz, x, true, ax) : of(s, op, x, dz, !ax, false);
    if (op == OP) {
      dx = BroadcastGradient.reduce(s, dx, x, y, 2);
      dy = BroadcastGradient.reduce(s, dy, y, x, 2);
    }
    g.dx(0, dx);
    g.dx(1, dy);
  }
}
