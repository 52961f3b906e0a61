package dev.millrace.ops.collective;

import dev.millrace.graph.op.Op;
import java.util.List;

/** The ops of this package. */
public final class CollectiveOps {
  public static final List<Op> ALL =
      List.of(
          CollectiveReduce.OP,
          CollectiveReduce.V2,
          CollectiveGather.OP,
          CollectiveGather.V2,
          CollectiveBroadcast.SEND,
          CollectiveBroadcast.RECV,
          CollectiveBroadcast.SEND_V2,
          CollectiveBroadcast.RECV_V2);

  private CollectiveOps() {}
}
