package dev.millrace.ops.summary;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.proto.Summary;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** What all summary ops have in common. */
final class Summaries {
  private Summaries() {}

  /** Completes an op that gives one serialized summary. */
  static Op.Builder define(Op.Builder op) {
    return op.output("summary: string")
        .shape(Shapes.scalar())
        .noGradient("a summary is for people to look at");
  }

  /** Gives output 0 the serialized summary. */
  static void deliver(KernelContext c, Summary.Builder summary) {
    Object[] bytes = {summary.build().toByteArray()};
    c.output(0, Refs.ofObjects(DType.STRING, Shape.scalar(), bytes));
  }

  /** Input {@code i}, a single string. */
  static String tag(KernelContext c, int i) {
    Tensor t = c.input(i);
    if (!isSingle(t.shape())) {
      throw MillraceException.invalid(
          "%s '%s': tag must be a scalar; it has shape %s.",
          c.node().op().name(), c.node().name(), t.shape());
    }
    return t.stringAt(0);
  }

  /** Scalars, and vectors of one element, which old graphs have in their place. */
  static boolean isSingle(Shape s) {
    return s.isScalar() || (s.rank() == 1 && s.dim(0) == 1);
  }

  /** The tag of one of several outputs of a kind; the number is left out if one is the most. */
  static String numbered(String tag, String kind, long i, long most) {
    return tag + "/" + kind + (most == 1 ? "" : "/" + i);
  }
}
