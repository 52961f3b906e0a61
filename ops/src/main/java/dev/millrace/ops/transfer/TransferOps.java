package dev.millrace.ops.transfer;

import dev.millrace.graph.Op;
import java.util.List;

/** The ops of this package. */
public final class TransferOps {
  public static final List<Op> ALL =
      List.of(
          SendRecv.SEND,
          SendRecv.HOST_SEND,
          SendRecv.RECV,
          SendRecv.HOST_RECV,
          ArgRetval.ARG,
          ArgRetval.RETVAL);

  private TransferOps() {}
}
