package dev.millrace.interop.bench;

import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Contenders measured in turns: each is warmed up, then there are rounds in which each runs once,
 * so that whatever else the machine does meets all of them alike.
 *
 * @param rounds how often each is measured
 * @param turn how long each runs per round
 */
public record Match(int rounds, Duration turn) {
  /** A contender's samples, one per round. */
  public record Result(String name, List<Sample> samples) {
    /** The median of the rounds' rates. */
    public double stepsPerSecond() {
      return median(samples.stream().map(Sample::stepsPerSecond).toList());
    }

    /** The median of the rounds' median times of a step. */
    public double medianMicros() {
      return median(samples.stream().map(Sample::medianMicros).toList());
    }

    /** The median over the rounds of the time that 99 of 100 steps stay below. */
    public double p99Micros() {
      return median(samples.stream().map(Sample::p99Micros).toList());
    }

    private double min() {
      return samples.stream().mapToDouble(Sample::stepsPerSecond).min().orElseThrow();
    }

    private double max() {
      return samples.stream().mapToDouble(Sample::stepsPerSecond).max().orElseThrow();
    }
  }

  /** Turns of a warm-up at most. */
  private static final int MAX_WARM_UP = 12;

  /** A turn that is not faster than those before by more than this shows nothing new. */
  private static final double GAIN = 1.05;

  /**
   * Lets a contender run until two turns in a row have not been faster than any before: some are at
   * full speed at once, others compile for seconds.
   */
  private void warmUp(Contender contender) {
    double best = 0;
    int flat = 0;
    for (int i = 0; i < MAX_WARM_UP && flat < 2; i++) {
      double rate = contender.run(turn).stepsPerSecond();
      flat = rate > GAIN * best ? 0 : flat + 1;
      best = Math.max(best, rate);
    }
  }

  /** Measures the contenders; the results stand in their order. */
  public List<Result> play(List<? extends Contender> contenders) {
    List<Result> results = new ArrayList<>();
    for (Contender contender : contenders) {
      warmUp(contender);
      results.add(new Result(contender.name(), new ArrayList<>()));
    }
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < contenders.size(); i++) {
        // Every other round goes backwards, so that nobody always follows the same one.
        int turnOf = round % 2 == 0 ? i : contenders.size() - 1 - i;
        results.get(turnOf).samples().add(contenders.get(turnOf).run(turn));
      }
    }
    return results;
  }

  /**
   * Prints a table; the ratio is that to the first contender. What nobody knows is a dash. Bytes of
   * heap per step, and how often memory for tensors was taken from the system, are those of the
   * last round.
   */
  public static void print(PrintStream out, String question, List<Result> results) {
    out.printf(
        Locale.ROOT,
        "%n%-44s %12s %23s %12s %12s %9s %10s %7s %7s%n",
        question,
        "steps/s",
        "min .. max",
        "median us",
        "p99 us",
        "peak MB",
        "heap/step",
        "native",
        "ratio");
    double first = results.getFirst().stepsPerSecond();
    for (Result r : results) {
      long peak = r.samples().getLast().peakBytes();
      out.printf(
          Locale.ROOT,
          "  %-42s %,12.1f %,10.1f .. %,9.1f %,12.1f %12s %9s %,10d %,7d %7.2f%n",
          r.name(),
          r.stepsPerSecond(),
          r.min(),
          r.max(),
          r.medianMicros(),
          Double.isNaN(r.p99Micros()) ? "-" : String.format(Locale.ROOT, "%,.1f", r.p99Micros()),
          peak == 0 ? "-" : String.format(Locale.ROOT, "%,d", peak >> 20),
          r.samples().getLast().heapBytes(),
          r.samples().getLast().nativeAllocations(),
          r.stepsPerSecond() / first);
    }
    out.flush();
  }

  private static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    int n = sorted.size();
    return (sorted.get((n - 1) / 2) + sorted.get(n / 2)) / 2;
  }
}
