package com.acme.extension;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.library.OpLibrary;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.Tensor;
import java.util.Collection;
import java.util.List;

/** An op of this jar, {@code y = x * x * x}, with its gradient. */
public final class AcmeOps implements OpLibrary {
  private static final Op CUBE =
      Op.define("AcmeCube")
          .input("x: float")
          .output("y: float")
          .shape(Shapes.like(0))
          .kernel(AcmeOps::compute)
          .gradient(AcmeOps::gradient)
          .build();

  @Override
  public Collection<Op> ops() {
    return List.of(CUBE);
  }

  /** Adds the cube of {@code x}. */
  static Output cube(Scope scope, Output x) {
    return scope.node(CUBE).input(x).add().output();
  }

  private static void compute(KernelContext c) {
    Tensor x = c.input(0);
    Tensor y = c.allocate(0, x.shape());
    for (int i = 0; i < x.elements(); i++) {
      double v = x.doubleAt(i);
      y.setDouble(i, v * v * v);
    }
  }

  private static void gradient(GradientContext g) {
    Output x = g.input(0);
    Output square = Arithmetic.mul(g.scope(), x, x);
    g.dx(0, Arithmetic.mul(g.scope(), g.dy(), Arithmetic.scaled(g.scope(), square, 3)));
  }
}
