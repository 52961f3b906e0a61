package dev.millrace.ops.bits;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class BitsOps {
  public static final List<Op> ALL =
      Stream.of(Bitwise.ALL, List.of(Bitcast.OP)).flatMap(List::stream).toList();

  private BitsOps() {}
}
