package dev.millrace.net;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLException;

/**
 * An encrypted connection over a blocking socket.
 *
 * <p>Threading: one thread at a time reads and one writes; they may be two, and any may close.
 */
final class TlsChannel implements ByteChannel {
  /** Several records, so that one system call moves them. */
  private static final int BUFFER_BYTES = 256 << 10;

  private final SocketChannel socket;
  private final SSLEngine engine;
  private final int recordBytes;
  private final int plainBytes;

  /** What has arrived and is not decrypted; ready for reading from. */
  private ByteBuffer arrived;

  /** What is decrypted and did not fit where it was wanted; ready for reading from. */
  private final ByteBuffer decrypted;

  /** What is encrypted and not sent; ready for writing to. */
  private ByteBuffer leaving;

  TlsChannel(SocketChannel socket, SSLEngine engine) {
    this.socket = socket;
    this.engine = engine;
    recordBytes = engine.getSession().getPacketBufferSize();
    plainBytes = engine.getSession().getApplicationBufferSize();
    // Room for a record: until the handshake is over, the peer may be anybody.
    arrived = ByteBuffer.allocate(recordBytes).flip();
    decrypted = ByteBuffer.allocate(plainBytes).flip();
    leaving = ByteBuffer.allocate(recordBytes);
  }

  SSLEngine engine() {
    return engine;
  }

  /**
   * Performs the handshake.
   *
   * @param first what has been read from the socket already
   */
  void handshake(ByteBuffer first) throws IOException {
    arrived.compact().put(first).flip();
    try {
      shakeHands();
      arrived = ByteBuffer.allocate(BUFFER_BYTES).put(arrived).flip();
      leaving = ByteBuffer.allocateDirect(BUFFER_BYTES);
    } catch (SSLException e) {
      sayWhy();
      throw e;
    }
  }

  /** Sends the alert of a failed handshake, and lets it arrive. */
  private void sayWhy() {
    try {
      // Its status is CLOSED: nothing else follows.
      engine.wrap(ByteBuffer.allocate(0), leaving);
      send();
      socket.shutdownOutput();
      for (int n = 0; n < BUFFER_BYTES; ) {
        int read = socket.read(arrived.clear());
        if (read < 0) {
          return;
        }
        n += read;
      }
    } catch (IOException again) {
      // The peer does not learn why; the log of this process says it.
    }
  }

  private void shakeHands() throws IOException {
    engine.beginHandshake();
    ByteBuffer nothing = ByteBuffer.allocate(0);
    while (true) {
      switch (engine.getHandshakeStatus()) {
        case NEED_TASK -> runTasks();
        case NEED_WRAP -> {
          wrap(nothing);
          send();
        }
        case NEED_UNWRAP, NEED_UNWRAP_AGAIN -> {
          if (unwrap(decrypted.compact()) < 0) {
            throw new EOFException("the connection was closed during the handshake");
          }
          decrypted.flip();
        }
        case FINISHED, NOT_HANDSHAKING -> {
          return;
        }
      }
    }
  }

  private void runTasks() {
    for (Runnable task = engine.getDelegatedTask();
        task != null;
        task = engine.getDelegatedTask()) {
      task.run();
    }
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    if (!into.hasRemaining()) {
      return 0;
    }
    int before = into.position();
    while (true) {
      if (decrypted.hasRemaining()) {
        int n = Math.min(decrypted.remaining(), into.remaining());
        into.put(into.position(), decrypted, decrypted.position(), n);
        decrypted.position(decrypted.position() + n);
        into.position(into.position() + n);
      }
      int n = into.position() - before;
      // Go on with what has arrived, but do not wait for more.
      if (n > 0 && (!into.hasRemaining() || !arrived.hasRemaining())) {
        return n;
      }
      boolean direct = into.remaining() >= plainBytes;
      int got =
          n > 0
              ? unwrapArrived(direct ? into : decrypted.clear())
              : unwrap(direct ? into : decrypted.clear());
      if (!direct) {
        decrypted.flip();
      }
      if (got < 0) {
        return n > 0 ? n : -1;
      }
      if (got == 0 && n > 0) {
        return n;
      }
    }
  }

  /** Decrypts one record, which is read first if need be; -1 at the end. */
  private int unwrap(ByteBuffer into) throws IOException {
    while (true) {
      SSLEngineResult r = engine.unwrap(arrived, into);
      switch (r.getStatus()) {
        case OK -> {
          if (r.getHandshakeStatus() == SSLEngineResult.HandshakeStatus.NEED_TASK) {
            runTasks();
          }
          return r.bytesProduced();
        }
        case CLOSED -> {
          return -1;
        }
        case BUFFER_UNDERFLOW -> {
          arrived.compact();
          int n = socket.read(arrived);
          arrived.flip();
          if (n < 0) {
            return -1;
          }
        }
        case BUFFER_OVERFLOW -> throw new SSLException("a record of more than " + plainBytes);
      }
    }
  }

  /** Decrypts one record if all of it has arrived; 0 if not, -1 at the end. */
  private int unwrapArrived(ByteBuffer into) throws IOException {
    SSLEngineResult r = engine.unwrap(arrived, into);
    if (r.getHandshakeStatus() == SSLEngineResult.HandshakeStatus.NEED_TASK) {
      runTasks();
    }
    return r.getStatus() == SSLEngineResult.Status.CLOSED ? -1 : r.bytesProduced();
  }

  /** Sends all of {@code from}. */
  @Override
  public int write(ByteBuffer from) throws IOException {
    int n = from.remaining();
    while (from.hasRemaining()) {
      wrap(from);
      if (leaving.remaining() < recordBytes) {
        send();
      }
    }
    send();
    return n;
  }

  /** Encrypts one record. */
  private void wrap(ByteBuffer from) throws IOException {
    SSLEngineResult r = engine.wrap(from, leaving);
    switch (r.getStatus()) {
      case OK -> {
        if (r.getHandshakeStatus() == SSLEngineResult.HandshakeStatus.NEED_TASK) {
          runTasks();
        }
      }
      case CLOSED -> throw new EOFException("the connection was closed");
      case BUFFER_OVERFLOW -> send();
      case BUFFER_UNDERFLOW -> throw new SSLException("nothing could be encrypted");
    }
  }

  private void send() throws IOException {
    leaving.flip();
    try {
      while (leaving.hasRemaining()) {
        socket.write(leaving);
      }
    } finally {
      leaving.clear();
    }
  }

  @Override
  public boolean isOpen() {
    return socket.isOpen();
  }

  /** Closes the socket. The protocols above say by themselves when they end. */
  @Override
  public void close() throws IOException {
    socket.close();
  }
}
