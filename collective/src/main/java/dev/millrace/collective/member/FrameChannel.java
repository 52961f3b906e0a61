package dev.millrace.collective.member;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Messages over a non-blocking channel: four bytes of length, one of type, then the contents.
 *
 * <p>Threading: one thread reads; any thread may send.
 */
final class FrameChannel implements AutoCloseable {
  private static final int HEADER_BYTES = 5;
  private static final int MAX_BYTES = 64 << 20;

  /** Takes the messages that have arrived. */
  @FunctionalInterface
  interface Reader {
    void read(byte type, byte[] contents);
  }

  private final SocketChannel channel;
  private ByteBuffer in = ByteBuffer.allocate(8 << 10);

  /** Messages the channel has not taken yet. Guarded by itself. */
  private final Deque<ByteBuffer> out = new ArrayDeque<>();

  FrameChannel(SocketChannel channel) {
    this.channel = channel;
  }

  SocketChannel channel() {
    return channel;
  }

  /** Hands over all messages that are there. Throws EOFException at the end of the stream. */
  void receive(Reader reader) throws IOException {
    while (true) {
      int n = channel.read(in);
      in.flip();
      while (in.remaining() >= HEADER_BYTES) {
        int length = in.getInt(in.position());
        if (length < 0 || length > MAX_BYTES) {
          throw new IOException("a control message of " + length + " bytes");
        }
        if (in.remaining() < HEADER_BYTES + length) {
          break;
        }
        in.getInt();
        byte type = in.get();
        byte[] contents = new byte[length];
        in.get(contents);
        reader.read(type, contents);
      }
      int needed = in.remaining() < HEADER_BYTES ? 0 : HEADER_BYTES + in.getInt(in.position());
      if (needed > in.capacity()) {
        ByteBuffer larger = ByteBuffer.allocate(Math.max(needed, in.capacity() * 2));
        larger.put(in);
        in = larger;
      } else {
        in.compact();
      }
      if (n < 0) {
        throw new EOFException("closed by the other side");
      }
      if (n == 0) {
        return;
      }
    }
  }

  /**
   * Sends a message, now as far as the channel takes it, the rest by {@link #flush}. Returns
   * whether everything has gone.
   */
  boolean send(byte type, byte[] contents) throws IOException {
    ByteBuffer frame = ByteBuffer.allocate(HEADER_BYTES + contents.length);
    frame.putInt(contents.length).put(type).put(contents).flip();
    synchronized (out) {
      out.add(frame);
      return flush();
    }
  }

  /** Sends what is left. Returns whether everything has gone. */
  boolean flush() throws IOException {
    synchronized (out) {
      while (!out.isEmpty()) {
        channel.write(out.peek());
        if (out.peek().hasRemaining()) {
          return false;
        }
        out.poll();
      }
      return true;
    }
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
