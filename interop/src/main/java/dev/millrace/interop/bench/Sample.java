package dev.millrace.interop.bench;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** What one run of a contender gave: its rate, and how long single steps took. */
public record Sample(double stepsPerSecond, double medianMicros, double p99Micros) {
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
        count * 1e9 / (before - start), nanos[count / 2] / 1e3, nanos[count * 99 / 100] / 1e3);
  }

  /** Several running beside each other: the rates add up, the times are those of the slowest. */
  public static Sample together(List<Sample> samples) {
    return new Sample(
        samples.stream().mapToDouble(Sample::stepsPerSecond).sum(),
        samples.stream().mapToDouble(Sample::medianMicros).max().orElseThrow(),
        samples.stream().mapToDouble(Sample::p99Micros).max().orElseThrow());
  }

  /** As one line, for another process. */
  String toLine() {
    return String.format(Locale.ROOT, "%s %s %s", stepsPerSecond, medianMicros, p99Micros);
  }

  static Sample ofLine(String line) {
    String[] parts = line.split(" ");
    return new Sample(
        Double.parseDouble(parts[0]), Double.parseDouble(parts[1]), Double.parseDouble(parts[2]));
  }
}
