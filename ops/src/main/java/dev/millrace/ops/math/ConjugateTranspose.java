package dev.millrace.ops.math;

import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Transpose;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.Elementwise;
import dev.millrace.tensor.math.elementwise.UnaryOp;

/** A transposition that takes the conjugate of complex elements. */
final class ConjugateTranspose {
  static final Op OP =
      Op.define("ConjugateTranspose")
          .attr("T: type")
          .attr("Tperm: {int32, int64} = int32")
          .input("x: T")
          .input("perm: Tperm")
          .output("y: T")
          .shape(Transpose::infer)
          .kernelPerNode(ConjugateTranspose::kernel)
          .gradient(g -> g.dx(0, of(g.scope(), g.dy(), Transpose.invert(g.scope(), g.input(1)))))
          .build();

  private ConjugateTranspose() {}

  private static Output of(Scope scope, Output x, Output perm) {
    return scope.add(OP, x, perm).output();
  }

  private static Kernel kernel(Node node) {
    if (!node.input(0).dtype().isComplex()) {
      return Transpose::compute;
    }
    return c -> {
      Tensor conjugate = Refs.allocate(c.input(0).dtype(), c.input(0).shape());
      try {
        Elementwise.unary(UnaryOp.CONJ, c.input(0), conjugate);
        c.output(0, Transpose.permuted(conjugate, c.input(1)));
      } finally {
        Refs.release(conjugate);
      }
    };
  }
}
