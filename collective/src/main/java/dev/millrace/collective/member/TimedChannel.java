package dev.millrace.collective.member;

import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

/**
 * Reads and writes whole buffers on a socket, TCP or Unix domain, before a point in time. Leaves
 * the channel open and non-blocking when closed.
 */
final class TimedChannel implements AutoCloseable {
  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;
  private final Timers timers;
  private final long endNanos;

  TimedChannel(SocketChannel channel, Platform platform, long endNanos) throws IOException {
    this.timers = platform.timers();
    this.channel = channel;
    this.endNanos = endNanos;
    channel.configureBlocking(false);
    selector = platform.sockets().openSelector();
    key = channel.register(selector, 0);
  }

  /** Fills a new buffer of this size. */
  ByteBuffer read(int bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(bytes);
    while (buffer.hasRemaining()) {
      int n = channel.read(buffer);
      if (n < 0) {
        throw new EOFException("closed by the other side");
      }
      if (n == 0) {
        await(SelectionKey.OP_READ);
      }
    }
    return buffer.flip();
  }

  void write(ByteBuffer buffer) throws IOException {
    while (buffer.hasRemaining()) {
      if (channel.write(buffer) == 0) {
        await(SelectionKey.OP_WRITE);
      }
    }
  }

  private void await(int operation) throws IOException {
    long leftNanos = endNanos - timers.now();
    if (leftNanos <= 0) {
      throw new SocketTimeoutException("no answer in time");
    }
    key.interestOps(operation);
    selector.select(Math.max(1, TimeUnit.NANOSECONDS.toMillis(leftNanos)));
    selector.selectedKeys().clear();
  }

  @Override
  public void close() throws IOException {
    selector.close();
  }
}
