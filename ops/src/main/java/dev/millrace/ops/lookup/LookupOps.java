package dev.millrace.ops.lookup;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class LookupOps {
  public static final List<Op> ALL =
      Stream.of(TableHandles.ALL, TableInitializers.ALL, TableAccess.ALL)
          .flatMap(List::stream)
          .toList();

  private LookupOps() {}
}
