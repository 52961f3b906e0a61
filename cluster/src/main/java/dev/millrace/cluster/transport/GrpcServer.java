package dev.millrace.cluster.transport;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.http2.CallLimits;
import dev.millrace.cluster.http2.TensorStreams;
import dev.millrace.cluster.spec.ServerLimits;
import io.grpc.Codec;
import io.grpc.DecompressorRegistry;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.WriteBufferWaterMark;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** A listening port with a task's services behind it. */
public final class GrpcServer implements AutoCloseable {
  private static final int RESETS_SECONDS = 10;

  private final Server server;

  private GrpcServer(Server server) {
    this.server = server;
  }

  /**
   * Listens on {@code address}.
   *
   * @param who names the task in the message if the port is taken
   */
  public static GrpcServer start(
      String who,
      InetSocketAddress address,
      MasterEndpoint master,
      WorkerEndpoint worker,
      LinkEndpoint links,
      HealthEndpoint health,
      FactsEndpoint facts,
      ServerLimits limits,
      Executor threads) {
    GrpcLog.quiet();
    Connections connections = new Connections();
    connections.watch(master.leases());
    connections.watch(worker.leases());
    NettyServerBuilder b =
        NettyServerBuilder.forAddress(address)
            .executor(threads)
            .maxInboundMessageSize(limits.messageBytes())
            .decompressorRegistry(
                DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, true))
            .handshakeTimeout(limits.request().toMillis(), TimeUnit.MILLISECONDS)
            .maxConcurrentCallsPerConnection(limits.calls())
            .maxRstFramesPerWindow(limits.resets(), RESETS_SECONDS)
            .maxInboundMetadataSize(64 << 10)
            .flowControlWindow(4 << 20)
            .protocolNegotiator(
                TensorStreams.plaintext(
                    worker::recvTensor, new CallLimits.Shared(limits, connections::holdsSessions)))
            .withChildOption(
                ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(256 << 10, 4 << 20))
            // TensorFlow's channels may ping at any rate, and without a call in flight.
            .permitKeepAliveTime(5, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true);
    for (ServerServiceDefinition s :
        List.of(
            master.service(),
            worker.service(),
            links.service(),
            health.service(),
            facts.service())) {
      b.addService(ServerInterceptors.intercept(s, connections));
    }
    b.addTransportFilter(connections);
    try {
      return new GrpcServer(b.build().start());
    } catch (IOException e) {
      String why = e.getCause() == null ? e.getMessage() : e.getCause().getMessage();
      boolean inUse = String.valueOf(why).contains("in use");
      throw new MillraceException(
          inUse ? Code.ALREADY_EXISTS : Code.UNAVAILABLE,
          who
              + " cannot listen on "
              + address.getHostString()
              + ":"
              + address.getPort()
              + ": "
              + (inUse
                  ? "the port is already in use. Stop the other process or change the address in"
                      + " the cluster spec."
                  : why),
          e);
    }
  }

  public int port() {
    return server.getPort();
  }

  /** Refuses new connections and calls, and gives those under way a while to end. */
  public void drain(long graceMillis) {
    server.shutdown();
    await(graceMillis);
  }

  /** Cuts off what is still under way and frees the port. */
  @Override
  public void close() {
    server.shutdown();
    if (!await(200)) {
      server.shutdownNow();
      await(2000);
    }
  }

  private boolean await(long millis) {
    try {
      return server.awaitTermination(millis, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      server.shutdownNow();
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
