package dev.millrace.interop.bench;

import dev.millrace.collective.peers.LocalTcp;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/**
 * What loopback itself allows: a thread asks for so many bytes, another sends them, and nothing
 * else is done. A protocol over TCP can hardly bring as many bytes in less time.
 */
public final class PlainTransfer implements Contender {
  private static final int CALL_BYTES = 1 << 20;

  private final SocketChannel here;
  private final SocketChannel there;
  private final ByteBuffer into;
  private final ByteBuffer request = ByteBuffer.allocateDirect(1);

  public PlainTransfer(int bytes) {
    into = ByteBuffer.allocateDirect(bytes);
    ByteBuffer from = ByteBuffer.allocateDirect(bytes);
    try (ServerSocketChannel door = ServerSocketChannel.open()) {
      door.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      here = SocketChannel.open(door.getLocalAddress());
      there = door.accept();
      LocalTcp.tune(here);
      LocalTcp.tune(there);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Thread.ofPlatform().daemon().name("plain transfer").start(() -> serve(from));
  }

  private void serve(ByteBuffer from) {
    int bytes = from.capacity();
    ByteBuffer asked = ByteBuffer.allocateDirect(1);
    try {
      while (there.read(asked.clear()) > 0) {
        from.clear();
        while (from.position() < bytes) {
          there.write(from.limit(Math.min(bytes, from.position() + CALL_BYTES)));
        }
      }
    } catch (IOException e) {
      // Closed: the measurement is over.
    }
  }

  private void ask() {
    try {
      here.write(request.clear());
      into.clear();
      while (into.position() < into.capacity()) {
        if (here.read(into.limit(Math.min(into.capacity(), into.position() + CALL_BYTES))) < 0) {
          throw new EOFException("loopback closed");
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public String name() {
    return "loopback alone";
  }

  @Override
  public Sample run(Duration duration) {
    return Sample.of(this::ask, duration);
  }

  @Override
  public void close() {
    try {
      here.close();
      there.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
