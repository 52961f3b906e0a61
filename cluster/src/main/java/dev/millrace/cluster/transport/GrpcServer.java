package dev.millrace.cluster.transport;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.http2.CallLimits;
import dev.millrace.cluster.http2.HandedConnections;
import dev.millrace.cluster.http2.TensorStreams;
import dev.millrace.cluster.spec.ServerLimits;
import dev.millrace.net.Endpoint;
import io.grpc.Codec;
import io.grpc.DecompressorRegistry;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.WriteBufferWaterMark;
import io.grpc.netty.shaded.io.netty.channel.nio.NioIoHandler;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** TensorFlow's services of a task, on its endpoint. */
public final class GrpcServer implements AutoCloseable {
  private static final int RESETS_SECONDS = 10;

  private final Server server;
  private final EventLoopGroup loops;

  private GrpcServer(Server server, EventLoopGroup loops) {
    this.server = server;
    this.loops = loops;
  }

  /** Serves the connections to the endpoint of {@code links} that are not encrypted. */
  public static GrpcServer start(
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
    Endpoint endpoint = links.links().endpoint();
    InetSocketAddress address =
        new InetSocketAddress(InetAddress.getLoopbackAddress(), endpoint.port());
    HandedConnections handed = new HandedConnections(address);
    EventLoopGroup loops =
        new MultiThreadIoEventLoopGroup(
            new DefaultThreadFactory("millrace-grpc", true), NioIoHandler.newFactory());
    NettyServerBuilder b =
        NettyServerBuilder.forAddress(address)
            .channelFactory(() -> handed)
            .bossEventLoopGroup(loops)
            .workerEventLoopGroup(loops)
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
      Server server = b.build().start();
      endpoint.serveOthers(handed);
      return new GrpcServer(server, loops);
    } catch (IOException e) {
      loops.shutdownGracefully();
      throw new MillraceException(
          Code.UNAVAILABLE, "The gRPC services cannot be started: " + e.getMessage(), e);
    }
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
    loops.shutdownGracefully(0, 2, TimeUnit.SECONDS);
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
