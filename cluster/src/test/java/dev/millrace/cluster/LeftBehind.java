package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.tensor.BufferPool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * What this process, with all servers in it, holds that others could make it keep: open files,
 * threads, memory of links it has mapped, memory of tensors.
 */
record LeftBehind(long files, long threads, long mappings, long bytes) {
  /** The pools of threads and connections need not have the same size twice. */
  private static final int FEW = 5;

  static LeftBehind now() {
    return new LeftBehind(
        openFiles(), threadsNow(), mappingsNow(), BufferPool.current().usedBytes());
  }

  /** Waits until there is no more than this. */
  void awaitNoMore() throws InterruptedException {
    eventually("bytes of tensors", bytes, BufferPool.current()::usedBytes);
    eventually("mappings", mappings, LeftBehind::mappingsNow);
    // Idle threads of the pool end after a while.
    eventually("threads", threads + FEW, LeftBehind::threadsNow);
    eventually("files", files + FEW, LeftBehind::openFiles);
  }

  /** Waits until the count is not above the limit. */
  static void eventually(String what, long limit, LongSupplier count) throws InterruptedException {
    long deadline = System.nanoTime() + 90_000_000_000L;
    long n = count.getAsLong();
    while (n > limit) {
      assertTrue(System.nanoTime() < deadline, what + ": " + n + " are left, not " + limit);
      TimeUnit.MILLISECONDS.sleep(200);
      System.gc();
      n = count.getAsLong();
    }
  }

  private static long openFiles() {
    try (var files = Files.list(Path.of("/proc/self/fd"))) {
      return files.count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long mappingsNow() {
    try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
      return lines.filter(l -> l.contains("/tensor-")).count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long threadsNow() {
    Predicate<String> counts = name -> name.startsWith("millrace-") && !name.contains("compute");
    return Thread.getAllStackTraces().keySet().stream().map(Thread::getName).filter(counts).count();
  }
}
