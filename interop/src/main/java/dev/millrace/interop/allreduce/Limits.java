package dev.millrace.interop.allreduce;

import dev.millrace.base.Timers;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** What this machine can do at most, in GB/s: what bus bandwidths are to be held against. */
final class Limits {
  private static final int BYTES = 64 << 20;
  private static final int ROUNDS = 6;

  private Limits() {}

  /** Copying between two stretches of memory with one thread, counted as read and written. */
  static double copy() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment from = arena.allocate(BYTES);
      MemorySegment to = arena.allocate(BYTES);
      long best = Long.MAX_VALUE;
      for (int i = 0; i < ROUNDS; i++) {
        long start = Timers.system().now();
        to.copyFrom(from);
        best = Math.min(best, Timers.system().now() - start);
      }
      return 2.0 * BYTES / best;
    }
  }

  /** One way over a TCP connection on loopback. */
  static double loopback() throws IOException {
    try (ServerSocketChannel door = ServerSocketChannel.open()) {
      door.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      SocketChannel out = SocketChannel.open(door.getLocalAddress());
      try (out;
          SocketChannel in = door.accept()) {
        Thread.ofPlatform().daemon().start(() -> send(out));
        ByteBuffer buffer = ByteBuffer.allocateDirect(512 << 10);
        long best = Long.MAX_VALUE;
        for (int i = 0; i < ROUNDS; i++) {
          long start = Timers.system().now();
          for (long got = 0; got < BYTES; ) {
            int n = in.read(buffer.clear());
            if (n < 0) {
              throw new IOException("loopback closed");
            }
            got += n;
          }
          best = Math.min(best, Timers.system().now() - start);
        }
        return (double) BYTES / best;
      }
    }
  }

  private static void send(SocketChannel out) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(512 << 10);
    try {
      while (out.write(buffer.clear()) >= 0) {}
    } catch (IOException e) {
      // The measurement is over.
    }
  }
}
