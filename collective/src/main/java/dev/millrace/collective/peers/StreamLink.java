package dev.millrace.collective.peers;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/**
 * A link over a connected socket, TCP or Unix domain, in non-blocking mode. The kernel sizes the
 * socket buffers: fixing them was measured to cost up to half the bandwidth.
 */
final class StreamLink implements PeerLink {
  /** Bytes moved by one system call at most; more gains nothing and delays the other direction. */
  private static final long CALL_BYTES = 1 << 20;

  private final SocketChannel channel;
  private final String where;
  private final ByteBuffer[] both = new ByteBuffer[2];
  private SelectionKey key;

  /** What the last attempts found impossible, as interest set for a selector. */
  private int blocked;

  /** Takes over a connected channel. */
  StreamLink(SocketChannel channel) throws IOException {
    this.channel = channel;
    channel.configureBlocking(false);
    if (channel.getRemoteAddress() instanceof InetSocketAddress tcp) {
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      LocalTcp.tune(channel);
      where = "tcp " + tcp.getAddress().getHostAddress() + ":" + tcp.getPort();
    } else {
      where = "unix socket";
    }
  }

  void register(Selector selector) throws IOException {
    key = channel.register(selector, 0);
  }

  /** Asks the selector for what was impossible last. Returns whether anything was. */
  boolean expressInterest() {
    if (key.interestOps() != blocked) {
      key.interestOps(blocked);
    }
    return blocked != 0;
  }

  @Override
  public long send(MemorySegment data, long offset, long length) throws IOException {
    return sent(channel.write(view(data, offset, length)));
  }

  /** One call: a few bytes that travel alone cost the other side as much as many. */
  @Override
  public long send(MemorySegment head, MemorySegment data) throws IOException {
    both[0] = view(head, 0, head.byteSize());
    both[1] = view(data, 0, data.byteSize());
    return sent(channel.write(both));
  }

  private long sent(long n) {
    if (n == 0) {
      blocked |= SelectionKey.OP_WRITE;
    } else {
      blocked &= ~SelectionKey.OP_WRITE;
    }
    return n;
  }

  @Override
  public long receive(MemorySegment into, long offset, long length) throws IOException {
    int n = channel.read(view(into, offset, length));
    if (n < 0) {
      throw new EOFException("closed by the other side");
    }
    if (n == 0) {
      blocked |= SelectionKey.OP_READ;
    } else {
      blocked &= ~SelectionKey.OP_READ;
    }
    return n;
  }

  private static ByteBuffer view(MemorySegment segment, long offset, long length) {
    return segment.asSlice(offset, Math.min(length, CALL_BYTES)).asByteBuffer();
  }

  @Override
  public String where() {
    return where;
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      // Nobody is left to tell.
    }
  }
}
