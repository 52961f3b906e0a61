package dev.millrace.serving.grpc;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.http2.CallLimits;
import dev.millrace.cluster.spec.ServerLimits;
import dev.millrace.cluster.transport.GrpcLog;
import dev.millrace.cluster.transport.HealthEndpoint;
import dev.millrace.serving.served.ServedModels;
import dev.millrace.serving.served.ServingLimits;
import io.grpc.Codec;
import io.grpc.DecompressorRegistry;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * The port of the gRPC services, with gRPC's health service.
 *
 * <p>Threading: any thread.
 */
public final class GrpcPort implements AutoCloseable {
  private static final int RESETS_SECONDS = 10;
  private static final int METADATA_BYTES = 64 << 10;

  private final Server server;
  private final HealthEndpoint health;

  private GrpcPort(Server server, HealthEndpoint health) {
    this.server = server;
    this.health = health;
  }

  /** Listens on {@code address}; answers calls on {@code threads}. */
  public static GrpcPort open(
      InetSocketAddress address, ServedModels models, ServingLimits limits, Executor threads) {
    GrpcLog.quiet();
    HealthEndpoint health =
        new HealthEndpoint(Set.of("", ServingMethods.PREDICTION, ServingMethods.MODEL));
    ServerLimits calls = callLimits(limits);
    NettyServerBuilder b =
        NettyServerBuilder.forAddress(address)
            .executor(threads)
            .maxInboundMessageSize(limits.bodyBytes())
            .decompressorRegistry(
                DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, true))
            .handshakeTimeout(limits.arrival().toMillis(), TimeUnit.MILLISECONDS)
            .maxConcurrentCallsPerConnection(calls.calls())
            .maxRstFramesPerWindow(calls.resets(), RESETS_SECONDS)
            .maxInboundMetadataSize(METADATA_BYTES)
            .protocolNegotiator(CallLimits.plaintext(new CallLimits.Shared(calls, a -> false)))
            .permitKeepAliveTime(5, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true);
    for (ServerServiceDefinition s : new PredictionEndpoint(models).services()) {
      b.addService(s);
    }
    b.addService(health.service());
    try {
      return new GrpcPort(b.build().start(), health);
    } catch (IOException e) {
      throw new MillraceException(
          Code.UNAVAILABLE,
          "The gRPC API cannot listen on "
              + address.getHostString()
              + ":"
              + address.getPort()
              + ": "
              + (e.getCause() == null ? e.getMessage() : e.getCause().getMessage())
              + ". Stop the other process or choose another port (--grpc-port).",
          e);
    }
  }

  /** The limits of a model server in the terms of the connections that tasks have too. */
  private static ServerLimits callLimits(ServingLimits limits) {
    ServerLimits usual = ServerLimits.of(Context.current().config());
    return new ServerLimits(
        limits.bodyBytes(),
        limits.bodyBytes(),
        limits.pendingBytes(),
        limits.arrival(),
        limits.idle(),
        Math.min(usual.calls(), limits.requests()),
        usual.resets(),
        usual.sessions(),
        usual.early(),
        usual.earlyAge());
  }

  /** The port it listens on. */
  public int port() {
    return ((InetSocketAddress) List.copyOf(server.getListenSockets()).getFirst()).getPort();
  }

  /** Takes no more calls; those under way go on. */
  public void stopAccepting() {
    health.stopServing();
    server.shutdown();
  }

  @Override
  public void close() {
    server.shutdownNow();
    try {
      server.awaitTermination(2, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
