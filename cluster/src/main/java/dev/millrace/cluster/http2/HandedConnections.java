package dev.millrace.cluster.http2;

import dev.millrace.collective.peers.LocalTcp;
import dev.millrace.net.Connection;
import dev.millrace.net.Endpoint;
import io.grpc.netty.shaded.io.netty.buffer.ByteBuf;
import io.grpc.netty.shaded.io.netty.buffer.Unpooled;
import io.grpc.netty.shaded.io.netty.channel.AbstractServerChannel;
import io.grpc.netty.shaded.io.netty.channel.ChannelConfig;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.DefaultChannelConfig;
import io.grpc.netty.shaded.io.netty.channel.EventLoop;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioSocketChannel;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.util.concurrent.RejectedExecutionException;

/**
 * A server channel of Netty's without a port: it gets the connections that an {@link Endpoint} has
 * accepted, and what was read from them to find out that they are not links.
 *
 * <p>Threading: any thread hands connections over; all else happens on the event loop.
 */
public final class HandedConnections extends AbstractServerChannel implements Endpoint.Protocol {
  private final SocketAddress address;
  private final ChannelConfig config =
      new DefaultChannelConfig(this) {
        @Override
        public <T> boolean setOption(ChannelOption<T> option, T value) {
          // Those of a listening socket mean nothing here.
          return option == ChannelOption.SO_BACKLOG || super.setOption(option, value);
        }
      };
  private volatile boolean bound;
  private volatile boolean closed;

  /** A server channel that says it listens on {@code address}. */
  public HandedConnections(SocketAddress address) {
    this.address = address;
  }

  @Override
  public void serve(Connection c) throws IOException {
    SocketChannel socket = c.socket();
    ByteBuffer first = c.takeFirst();
    LocalTcp.tune(socket);
    if (!c.settle()) {
      throw new ClosedChannelException();
    }
    try {
      eventLoop().execute(() -> accept(socket, first));
    } catch (RejectedExecutionException e) {
      throw new IOException("the server is shutting down", e);
    }
  }

  private void accept(SocketChannel socket, ByteBuffer first) {
    NioSocketChannel child = new NioSocketChannel(this, socket);
    if (closed) {
      child.unsafe().closeForcibly();
      return;
    }
    child.pipeline().addLast(new ReadBefore(Unpooled.wrappedBuffer(first)));
    pipeline().fireChannelRead(child);
    pipeline().fireChannelReadComplete();
  }

  /** Gives the bytes that were read before to the other handlers, once they are there. */
  private static final class ReadBefore extends ChannelInboundHandlerAdapter {
    private final ByteBuf bytes;

    ReadBefore(ByteBuf bytes) {
      this.bytes = bytes;
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
      ctx.fireChannelActive();
      ctx.fireChannelRead(bytes);
      ctx.fireChannelReadComplete();
      ctx.pipeline().remove(this);
    }
  }

  @Override
  public void refuse(Connection c, String why) throws IOException {
    refuseCalls(c, why);
  }

  /** Answers the calls of a client of gRPC with why it is refused. */
  public static void refuseCalls(Connection c, String why) throws IOException {
    new RefusedCalls(c, why).answer();
  }

  @Override
  public ChannelConfig config() {
    return config;
  }

  @Override
  public boolean isOpen() {
    return !closed;
  }

  @Override
  public boolean isActive() {
    return bound && !closed;
  }

  @Override
  protected boolean isCompatible(EventLoop loop) {
    return true;
  }

  @Override
  protected SocketAddress localAddress0() {
    return address;
  }

  @Override
  protected void doBind(SocketAddress ignored) {
    bound = true;
  }

  @Override
  protected void doClose() {
    closed = true;
  }

  @Override
  protected void doBeginRead() {
    // Connections come when they are handed over.
  }
}
