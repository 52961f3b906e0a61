package dev.millrace.ops.math;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class MathOps {
  public static final List<Op> ALL =
      Stream.of(
              Unary.ALL,
              UnaryGrad.ALL,
              Arithmetic.ALL,
              Comparisons.ALL,
              ComplexParts.ALL,
              Reduction.ALL,
              List.of(
                  AddN.OP,
                  AddN.ACCUMULATE,
                  BatchMatMul.OP,
                  BatchMatMul.V1,
                  Cast.OP,
                  Cast.HOST,
                  Bucketize.OP,
                  ClipByValue.OP,
                  ConjugateTranspose.OP,
                  Cumulative.SUM,
                  Cumulative.PROD,
                  L2Loss.OP,
                  MatMul.OP))
          .flatMap(List::stream)
          .toList();

  private MathOps() {}
}
