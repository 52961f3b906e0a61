package com.acme.extension;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.variable.Initializer;

/** The initial value 1, 2, 3, and so on. */
final class Ramp implements Initializer {
  @Override
  public Output of(Scope scope, DType dtype, Shape shape) {
    try (Tensor t = Tensor.allocate(dtype, shape)) {
      for (int i = 0; i < t.elements(); i++) {
        t.setDouble(i, i + 1);
      }
      return Const.of(scope, t);
    }
  }
}
