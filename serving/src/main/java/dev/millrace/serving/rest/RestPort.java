package dev.millrace.serving.rest;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.serving.served.ServedModels;
import dev.millrace.serving.served.ServingLimits;
import io.grpc.netty.shaded.io.netty.bootstrap.ServerBootstrap;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelInitializer;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.ServerChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollIoHandler;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioIoHandler;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioServerSocketChannel;
import io.grpc.netty.shaded.io.netty.handler.codec.http.HttpServerCodec;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The port of the REST API. Bytes move on event loops, which never wait; each request is answered
 * on a thread of its own, so that a slow one does not hold up others.
 *
 * <p>Threading: any thread.
 */
public final class RestPort implements AutoCloseable {
  private static final int LINE_BYTES = 8 << 10;
  private static final int HEADER_BYTES = 32 << 10;
  private static final int CHUNK_BYTES = 64 << 10;
  private static final int BACKLOG = 1024;

  private final EventLoopGroup loops;
  private final Channel channel;

  private RestPort(EventLoopGroup loops, Channel channel) {
    this.loops = loops;
    this.channel = channel;
  }

  /** What the connections of a port share. */
  record Shared(
      ServedModels models,
      Set<RestConnection> open,
      RestRoutes routes,
      ServingLimits limits,
      AtomicLong pendingBytes,
      Executor threads,
      Timers timers) {}

  /** Listens on {@code address}; answers requests on {@code threads}. */
  public static RestPort open(
      InetSocketAddress address, ServedModels models, ServingLimits limits, Executor threads) {
    Shared shared =
        new Shared(
            models,
            ConcurrentHashMap.newKeySet(),
            new RestRoutes(models, limits),
            limits,
            new AtomicLong(),
            threads,
            Context.current().timers());
    ThreadFactory names = Thread.ofPlatform().name("millrace-http-", 0).daemon().factory();
    boolean epoll = Epoll.isAvailable();
    EventLoopGroup loops =
        new MultiThreadIoEventLoopGroup(
            0, names, epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
    Class<? extends ServerChannel> kind =
        epoll ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
    try {
      Channel channel =
          new ServerBootstrap()
              .group(loops)
              .channel(kind)
              .option(ChannelOption.SO_BACKLOG, BACKLOG)
              .option(ChannelOption.SO_REUSEADDR, true)
              .childOption(ChannelOption.TCP_NODELAY, true)
              .childHandler(
                  new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel c) {
                      c.pipeline()
                          .addLast(new HttpServerCodec(LINE_BYTES, HEADER_BYTES, CHUNK_BYTES))
                          .addLast(new RestConnection(shared));
                    }
                  })
              .bind(address)
              .syncUninterruptibly()
              .channel();
      return new RestPort(loops, channel);
    } catch (Exception e) {
      loops.shutdownGracefully(0, 0, TimeUnit.SECONDS);
      throw new MillraceException(
          Code.UNAVAILABLE,
          "The REST API cannot listen on "
              + address.getHostString()
              + ":"
              + address.getPort()
              + ": "
              + e.getMessage()
              + ". Stop the other process or choose another port (--rest-port).",
          e);
    }
  }

  /** The port it listens on. */
  public int port() {
    return ((InetSocketAddress) channel.localAddress()).getPort();
  }

  /** Takes no more connections; those there are go on. */
  public void stopAccepting() {
    channel.close().awaitUninterruptibly(2, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    stopAccepting();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly(3, TimeUnit.SECONDS);
  }
}
