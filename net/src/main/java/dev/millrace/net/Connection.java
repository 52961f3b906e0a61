package dev.millrace.net;

import java.io.IOException;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A connection to another process, encrypted or not, and who is at its other end. Reads and writes
 * block.
 *
 * <p>Threading: one thread at a time reads and one writes; they may be two, and any may close.
 */
public final class Connection implements ByteChannel {
  private static final int MAX_DROPPED_BYTES = 16 << 20;

  private final SocketChannel socket;
  private final ByteChannel channel;
  private final PeerIdentity peer;
  private final SocketAddress remote;
  private final AtomicBoolean settled = new AtomicBoolean();
  private final Runnable onSettled;

  /** What was read to find out what the connection is; null once it has been read again. */
  private @Nullable ByteBuffer first;

  Connection(
      SocketChannel socket,
      @Nullable TlsChannel encrypted,
      PeerIdentity peer,
      @Nullable ByteBuffer first,
      Runnable onSettled)
      throws IOException {
    this.socket = socket;
    this.channel = encrypted == null ? socket : encrypted;
    this.peer = peer;
    this.remote = socket.getRemoteAddress();
    this.first = first;
    this.onSettled = onSettled;
  }

  /** Who is at the other end. */
  public PeerIdentity peer() {
    return peer;
  }

  /** Where the other end is. */
  public SocketAddress remote() {
    return remote;
  }

  /** Whether it is a Unix socket: the other end is on this host. */
  public boolean isLocal() {
    return remote instanceof UnixDomainSocketAddress;
  }

  /** Whether what is sent is encrypted. */
  public boolean isEncrypted() {
    return channel != socket;
  }

  /**
   * Tells the endpoint that the peer has done what it must do first: the limits for connections
   * that have not no longer hold. Returns false if the endpoint has given the connection up.
   */
  public boolean settle() {
    if (settled.compareAndSet(false, true)) {
      onSettled.run();
    }
    return isOpen();
  }

  /**
   * The socket, for a protocol with an own way of reading, and what has been read from it. Not for
   * encrypted connections.
   */
  public SocketChannel socket() {
    if (isEncrypted()) {
      throw new IllegalStateException("The connection is encrypted.");
    }
    return socket;
  }

  /** What has been read from {@link #socket}; the caller goes on with what comes after. */
  public ByteBuffer takeFirst() {
    ByteBuffer f = first;
    first = null;
    return f == null ? ByteBuffer.allocate(0) : f;
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    ByteBuffer f = first;
    if (f != null) {
      int n = Math.min(f.remaining(), into.remaining());
      into.put(f.slice(f.position(), n));
      f.position(f.position() + n);
      if (!f.hasRemaining()) {
        first = null;
      }
      if (n > 0) {
        return n;
      }
    }
    return channel.read(into);
  }

  @Override
  public int write(ByteBuffer from) throws IOException {
    return channel.write(from);
  }

  /**
   * Lets what was written arrive before the connection is closed: the system discards it if bytes
   * of the peer are unread then. Drops those until the peer closes or the endpoint's limit ends.
   */
  public void finish() throws IOException {
    if (!isEncrypted()) {
      socket.shutdownOutput();
    }
    ByteBuffer dropped = ByteBuffer.allocate(1 << 16);
    for (int bytes = 0; bytes < MAX_DROPPED_BYTES; ) {
      int n = read(dropped.clear());
      if (n < 0) {
        return;
      }
      bytes += n;
    }
  }

  @Override
  public boolean isOpen() {
    return socket.isOpen();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  @Override
  public String toString() {
    return peer + " at " + (isLocal() ? "a socket of this host" : remote);
  }
}
