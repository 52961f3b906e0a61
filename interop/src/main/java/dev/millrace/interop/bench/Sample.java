package dev.millrace.interop.bench;

import com.sun.management.ThreadMXBean;
import dev.millrace.base.Timers;
import dev.millrace.tensor.BufferPool;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * What one run of a contender gave: its rate, how long single steps took, and how much memory its
 * processes have had resident at most since they started, 0 where that is not known.
 *
 * @param heapBytes what a step allocated on the Java heap, by all threads
 * @param nativeAllocations how often Millrace asked the system for tensors' memory in the run
 */
public record Sample(
    double stepsPerSecond,
    double medianMicros,
    double p99Micros,
    long peakBytes,
    long heapBytes,
    long nativeAllocations) {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** A run of which nothing is known about the memory of its steps. */
  public Sample(double stepsPerSecond, double medianMicros, double p99Micros, long peakBytes) {
    this(stepsPerSecond, medianMicros, p99Micros, peakBytes, 0, 0);
  }

  /** Runs {@code step} until {@code duration} is over, at least once. */
  public static Sample of(Runnable step, Duration duration) {
    long[] nanos = new long[1024];
    int count = 0;
    long nativeBefore = BufferPool.current().nativeAllocations();
    long heapBefore = THREADS.getTotalThreadAllocatedBytes();
    long ownHeap = 0;
    long start = Timers.system().now();
    long end = start + duration.toNanos();
    long before = start;
    do {
      step.run();
      long now = Timers.system().now();
      if (count == nanos.length) {
        nanos = Arrays.copyOf(nanos, 2 * count);
        ownHeap += 8L * nanos.length;
      }
      nanos[count++] = now - before;
      before = now;
    } while (before < end);
    long heap = THREADS.getTotalThreadAllocatedBytes() - heapBefore - ownHeap;
    long fromSystem = BufferPool.current().nativeAllocations() - nativeBefore;
    Arrays.sort(nanos, 0, count);
    return new Sample(
        count * 1e9 / (before - start),
        nanos[count / 2] / 1e3,
        nanos[count * 99 / 100] / 1e3,
        residentPeak(),
        heap / count,
        fromSystem);
  }

  /** The most this process has had resident, from Linux's books. */
  private static long residentPeak() {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
        if (line.startsWith("VmHWM:")) {
          return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
        }
      }
    } catch (IOException e) {
      // Not Linux.
    }
    return 0;
  }

  /** Several running beside each other: the rates add up, the times are those of the slowest. */
  public static Sample together(List<Sample> samples) {
    return new Sample(
        samples.stream().mapToDouble(Sample::stepsPerSecond).sum(),
        samples.stream().mapToDouble(Sample::medianMicros).max().orElseThrow(),
        samples.stream().mapToDouble(Sample::p99Micros).max().orElseThrow(),
        samples.stream().mapToLong(Sample::peakBytes).sum(),
        samples.stream().mapToLong(Sample::heapBytes).max().orElseThrow(),
        samples.stream().mapToLong(Sample::nativeAllocations).sum());
  }

  /** As one line, for another process. */
  String toLine() {
    return String.format(
        Locale.ROOT,
        "%s %s %s %d %d %d",
        stepsPerSecond,
        medianMicros,
        p99Micros,
        peakBytes,
        heapBytes,
        nativeAllocations);
  }

  /** Reads such a line; the programs of peers leave out the last two numbers. */
  static Sample ofLine(String line) {
    String[] parts = line.split(" ");
    boolean whole = parts.length > 4;
    return new Sample(
        Double.parseDouble(parts[0]),
        Double.parseDouble(parts[1]),
        Double.parseDouble(parts[2]),
        Long.parseLong(parts[3]),
        whole ? Long.parseLong(parts[4]) : 0,
        whole ? Long.parseLong(parts[5]) : 0);
  }
}
