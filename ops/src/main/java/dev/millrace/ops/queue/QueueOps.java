package dev.millrace.ops.queue;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class QueueOps {
  public static final List<Op> ALL =
      Stream.of(QueueHandles.ALL, QueueAccess.ALL, List.of(Staging.STAGE, Staging.UNSTAGE))
          .flatMap(List::stream)
          .toList();

  private QueueOps() {}
}
