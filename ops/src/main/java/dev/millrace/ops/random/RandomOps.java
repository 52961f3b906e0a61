package dev.millrace.ops.random;

import dev.millrace.graph.Op;
import java.util.List;

/** The ops of this package. */
public final class RandomOps {
  public static final List<Op> ALL =
      List.of(
          Multinomial.OP,
          ParameterizedTruncatedNormal.OP,
          RandomNumbers.NORMAL,
          RandomNumbers.TRUNCATED_NORMAL,
          RandomNumbers.UNIFORM,
          RandomShuffle.OP,
          RandomUniformInt.OP,
          StatelessRandom.NORMAL,
          StatelessRandom.TRUNCATED_NORMAL,
          StatelessRandom.UNIFORM);

  private RandomOps() {}
}
