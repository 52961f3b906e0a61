package dev.millrace.ops.collective;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class CollectiveOps {
  public static final List<Op> ALL =
      Stream.concat(
              Stream.of(
                  CollectiveReduce.OP,
                  CollectiveReduce.V2,
                  CollectiveReduceScatter.V2,
                  CollectiveGather.OP,
                  CollectiveGather.V2,
                  CollectiveAllToAll.V2,
                  CollectiveBroadcast.SEND,
                  CollectiveBroadcast.RECV,
                  CollectiveBroadcast.SEND_V2,
                  CollectiveBroadcast.RECV_V2,
                  CollectiveAssignGroup.V2),
              CommunicatorHandle.ALL.stream())
          .toList();

  private CollectiveOps() {}
}
