package dev.millrace.ops.io;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Joins strings, element by element, with a separator between; scalars go with every element. */
public final class StringJoin {
  public static final Op OP =
      Op.define("StringJoin")
          .attr("N: int >= 0")
          .attr("separator: string = ''")
          .input("inputs: N * string")
          .output("output: string")
          .shape(
              c -> {
                Shape all = Shape.scalar();
                for (int i = 0; i < c.inputCount(); i++) {
                  all = common(all, c.input(i));
                }
                return List.of(all);
              })
          .kernelPerNode(StringJoin::kernel)
          .noGradient("a string is not a number")
          .build();

  private StringJoin() {}

  /** Adds a join of {@code inputs} without a separator. */
  public static Output of(Scope scope, List<Output> inputs) {
    return scope.node(OP).inputs(inputs).add().output();
  }

  private static Shape common(Shape a, Shape b) {
    if (a.isScalar()) {
      return b;
    }
    if (b.isScalar()) {
      return a;
    }
    if (!a.isCompatibleWith(b)) {
      throw MillraceException.invalid(
          "Inputs of StringJoin must have the same shape or be scalars; there are %s and %s.",
          a, b);
    }
    // What has no rank may be a scalar, and then says nothing of the others.
    return a.hasRank() && b.hasRank() ? a.mergeWith(b) : Shape.unknown();
  }

  private static Kernel kernel(Node node) {
    byte[] separator = node.stringAttr("separator").getBytes(StandardCharsets.UTF_8);
    return c -> {
      Shape shape = Shape.scalar();
      for (int i = 0; i < c.inputCount(); i++) {
        shape = common(shape, c.input(i).shape());
      }
      Object[] joined = new Object[Math.toIntExact(shape.elements())];
      for (int k = 0; k < joined.length; k++) {
        ByteArrayOutputStream s = new ByteArrayOutputStream();
        for (int i = 0; i < c.inputCount(); i++) {
          if (i > 0) {
            s.writeBytes(separator);
          }
          Tensor in = c.input(i);
          s.writeBytes(in.bytesAt(in.shape().isScalar() ? 0 : k));
        }
        joined[k] = s.toByteArray();
      }
      c.output(0, Refs.ofObjects(DType.STRING, shape, joined));
    };
  }
}
