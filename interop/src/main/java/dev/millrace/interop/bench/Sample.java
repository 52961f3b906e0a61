package dev.millrace.interop.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * What one run of a contender gave: its rate, how long single steps took, and how much memory its
 * processes have had resident at most since they started, 0 where that is not known.
 */
public record Sample(double stepsPerSecond, double medianMicros, double p99Micros, long peakBytes) {
  /** Runs {@code step} until {@code duration} is over, at least once. */
  public static Sample of(Runnable step, Duration duration) {
    long[] nanos = new long[1024];
    int count = 0;
    long start = System.nanoTime();
    long end = start + duration.toNanos();
    long before = start;
    do {
      step.run();
      long now = System.nanoTime();
      if (count == nanos.length) {
        nanos = Arrays.copyOf(nanos, 2 * count);
      }
      nanos[count++] = now - before;
      before = now;
    } while (before < end);
    Arrays.sort(nanos, 0, count);
    return new Sample(
        count * 1e9 / (before - start),
        nanos[count / 2] / 1e3,
        nanos[count * 99 / 100] / 1e3,
        residentPeak());
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
        samples.stream().mapToLong(Sample::peakBytes).sum());
  }

  /** As one line, for another process. */
  String toLine() {
    return String.format(
        Locale.ROOT, "%s %s %s %d", stepsPerSecond, medianMicros, p99Micros, peakBytes);
  }

  static Sample ofLine(String line) {
    String[] parts = line.split(" ");
    return new Sample(
        Double.parseDouble(parts[0]),
        Double.parseDouble(parts[1]),
        Double.parseDouble(parts[2]),
        Long.parseLong(parts[3]));
  }
}
