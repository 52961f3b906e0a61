package dev.millrace.interop.allreduce;

import dev.millrace.base.Timers;
import dev.millrace.collective.peers.LocalTcp;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * What loopback itself allows: as many threads as there are ranks pass as many bytes around a ring
 * of TCP connections as an all-reduce does, without waiting for each other and without adding
 * anything. An all-reduce over such sockets can hardly take less.
 */
final class PlainExchange implements AllReduceContender {
  private static final int CALL_BYTES = 1 << 20;

  private final int ranks;
  private final boolean crowded;
  private final List<SocketChannel> next = new ArrayList<>();
  private final List<SocketChannel> previous = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final CyclicBarrier barrier;

  PlainExchange(int ranks) throws IOException {
    this.ranks = ranks;
    this.crowded = ranks > Runtime.getRuntime().availableProcessors();
    this.barrier = new CyclicBarrier(ranks);
    try (ServerSocketChannel door = ServerSocketChannel.open()) {
      door.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      for (int r = 0; r < ranks; r++) {
        next.add(ready(SocketChannel.open(door.getLocalAddress())));
        previous.add(ready(door.accept()));
      }
    }
  }

  private static SocketChannel ready(SocketChannel channel) throws IOException {
    channel.configureBlocking(false);
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    LocalTcp.tune(channel);
    return channel;
  }

  @Override
  public String name() {
    return "the same bytes without adding";
  }

  @Override
  public double run(long bytes, double seconds) throws IOException {
    int count = (int) Math.clamp(seconds / median(bytes, 3), 5, 20_000);
    return median(bytes, count);
  }

  private double median(long size, int count) throws IOException {
    List<Future<double[]>> all = new ArrayList<>();
    for (int r = 0; r < ranks; r++) {
      int rank = r;
      all.add(threads.submit(() -> exchange(rank, size, count)));
    }
    try {
      double[] times = null;
      for (Future<double[]> f : all) {
        double[] t = Timers.system().get(f, Duration.ofSeconds(60));
        times = times == null ? t : times;
      }
      Arrays.sort(times);
      return times[count / 2];
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    } catch (ExecutionException | TimeoutException e) {
      throw new IOException("the plain exchange did not end", e);
    }
  }

  /** Seconds per exchange as this rank sees them. */
  private double[] exchange(int rank, long size, int count) throws Exception {
    long bytes = 2L * (ranks - 1) * (size / ranks);
    // Rank r calls the acceptor of rank r + 1.
    SocketChannel to = next.get(rank);
    SocketChannel from = previous.get((rank + ranks - 1) % ranks);
    // In place, as an all-reduce does it: what comes in may overwrite what goes out.
    ByteBuffer out = ByteBuffer.allocateDirect((int) size);
    ByteBuffer in = out.duplicate();
    double[] times = new double[count];
    barrier.await(60, TimeUnit.SECONDS);
    for (int i = 0; i < count; i++) {
      long start = Timers.system().now();
      long sent = 0;
      long got = 0;
      while (sent < bytes || got < bytes) {
        int n = sent < bytes ? to.write(piece(out, sent, bytes)) : 0;
        int m = got < bytes ? from.read(piece(in, got, bytes)) : 0;
        if (m < 0) {
          throw new EOFException("loopback closed");
        }
        sent += n;
        got += m;
        if (n + m == 0) {
          idle();
        }
      }
      times[i] = (Timers.system().now() - start) / 1e9;
    }
    return times;
  }

  private static ByteBuffer piece(ByteBuffer memory, long at, long bytes) {
    int start = (int) (at % memory.capacity());
    long length = Math.min(Math.min(bytes - at, memory.capacity() - start), CALL_BYTES);
    return memory.limit(start + (int) length).position(start);
  }

  private void idle() {
    if (crowded) {
      Thread.yield();
    } else {
      Thread.onSpinWait();
    }
  }

  @Override
  public void close() {
    threads.shutdownNow();
    for (List<SocketChannel> ends : List.of(next, previous)) {
      for (SocketChannel c : ends) {
        try {
          c.close();
        } catch (IOException e) {
          System.err.println(e);
        }
      }
    }
  }
}
