package dev.millrace.fuzz;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * A socket at which some bytes and then the end of the stream have arrived. What is written to it
 * is not read.
 *
 * <p>Threading: one thread makes them.
 */
public final class ArrivedBytes implements AutoCloseable {
  private static final ServerSocketChannel LISTENER = listen();

  private final SocketChannel peer;
  private final SocketChannel socket;

  public ArrivedBytes(byte[] bytes) throws IOException {
    peer = SocketChannel.open(LISTENER.getLocalAddress());
    socket = LISTENER.accept();
    ByteBuffer all = ByteBuffer.wrap(bytes);
    while (all.hasRemaining()) {
      peer.write(all);
    }
    peer.shutdownOutput();
  }

  private static ServerSocketChannel listen() {
    try {
      return ServerSocketChannel.open(StandardProtocolFamily.UNIX)
          .bind(UnixDomainSocketAddress.of(Fuzzing.newFile("socket")));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Where the bytes are read. */
  public SocketChannel socket() {
    return socket;
  }

  @Override
  public void close() throws IOException {
    socket.close();
    peer.close();
  }
}
