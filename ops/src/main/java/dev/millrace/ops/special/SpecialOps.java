package dev.millrace.ops.special;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class SpecialOps {
  public static final List<Op> ALL =
      Stream.of(SpecialUnary.ALL, SpecialBinary.ALL, List.of(Betainc.OP))
          .flatMap(List::stream)
          .toList();

  private SpecialOps() {}
}
