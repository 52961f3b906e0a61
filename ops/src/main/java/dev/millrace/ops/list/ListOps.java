package dev.millrace.ops.list;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class ListOps {
  public static final List<Op> ALL =
      Stream.of(TensorListOps.ALL, ListPieces.ALL, Optionals.ALL).flatMap(List::stream).toList();

  private ListOps() {}
}
