package dev.millrace.ops.train;

import static dev.millrace.ops.train.UpdateFamily.Form.DENSE;
import static dev.millrace.ops.train.UpdateFamily.Form.RESOURCE;

import dev.millrace.graph.op.Op;
import dev.millrace.tensor.math.GradientDescent;
import java.util.List;
import java.util.stream.Stream;

/** The update rules. Inputs before the bar are variables; those after it are values. */
final class UpdateOps {
  static final List<Op> GRADIENT_DESCENT =
      new UpdateFamily("GradientDescent", "var | alpha, delta")
          .rule(h -> new GradientDescent(h[0]))
          .ops(DENSE, RESOURCE);

  static final List<Op> ALL = Stream.of(GRADIENT_DESCENT).flatMap(List::stream).toList();

  private UpdateOps() {}
}
