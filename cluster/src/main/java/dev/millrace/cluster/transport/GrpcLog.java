package dev.millrace.cluster.transport;

import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.context.Context;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Keeps gRPC from logging, each time again, what Millrace reports once and in its own words: names
 * that do not resolve, strangers on the port, messages that cannot be read. {@code
 * -Dmillrace.grpc.log=true} brings it back.
 */
public final class GrpcLog {
  /** Held here, as the loggers' settings last only as long as somebody does. */
  private static final List<Logger> QUIET =
      List.of(
          Logger.getLogger("io.grpc.internal.ManagedChannelImpl"),
          Logger.getLogger("io.grpc.internal.SerializingExecutor"),
          Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty.NettyServerTransport.connections"),
          Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty.NettyServerTransport"));

  private GrpcLog() {}

  /** Keeps gRPC quiet, unless a setting wants its log. */
  public static void quiet() {
    if (!Context.current().config().get(ClusterSettings.GRPC_LOG)) {
      QUIET.forEach(l -> l.setLevel(Level.OFF));
    }
  }
}
