package dev.millrace.interop.ring;

import dev.millrace.interop.ChildProcess;
import dev.millrace.interop.bench.Contender;
import dev.millrace.interop.bench.Sample;
import java.time.Duration;
import java.util.List;

/**
 * Processes that train together: each is told a number of steps, the same for all, and answers with
 * the time they took.
 */
final class Ranks implements Contender {
  private static final Duration START = Duration.ofSeconds(120);
  private static final Duration RUN = Duration.ofSeconds(120);

  private static final double WARM_UP_SECONDS = 4;
  private static final double MAX_WARM_UP_SECONDS = 15;
  private static final int WARM_UP_STEPS = 200;

  private final String name;
  private final List<ChildProcess> ranks;
  private final List<ChildProcess> others;

  /** Seconds per step, as seen last. */
  private double perStep;

  private Ranks(String name, List<ChildProcess> ranks, List<ChildProcess> others) {
    this.name = name;
    this.ranks = ranks;
    this.others = others;
  }

  /** Processes that have just been started and will say so when they are ready. */
  static Ranks started(String name, List<ChildProcess> ranks) {
    return started(name, ranks, List.of());
  }

  /** Starts the ranks, and other processes that only end with them. */
  static Ranks started(String name, List<ChildProcess> ranks, List<ChildProcess> others) {
    Ranks all = new Ranks(name, ranks, others);
    try {
      ranks.forEach(r -> r.receive(START));
    } catch (RuntimeException e) {
      all.close();
      throw e;
    }
    return all.warmedUp();
  }

  /** Processes that are ready, and others that only have to be ended with them. */
  static Ranks ready(String name, List<ChildProcess> ranks, List<ChildProcess> others) {
    return new Ranks(name, ranks, others).warmedUp();
  }

  private Ranks warmedUp() {
    try {
      warmUp();
      return this;
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  /** Until the compiler has seen enough of the loop, which spinning ranks give little time. */
  private void warmUp() {
    double spent = 0;
    int done = 0;
    for (int steps = 4; spent < MAX_WARM_UP_SECONDS; steps *= 2) {
      double seconds = steps(steps);
      spent += seconds;
      done += steps;
      perStep = seconds / steps;
      if (spent > WARM_UP_SECONDS && done >= WARM_UP_STEPS) {
        break;
      }
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Sample run(Duration duration) {
    int steps = (int) Math.max(2, duration.toNanos() / 1e9 / perStep);
    perStep = steps(steps) / steps;
    return new Sample(1 / perStep, perStep * 1e6, perStep * 1e6, 0);
  }

  /** The seconds all ranks together take for this many steps. */
  private double steps(int count) {
    ranks.forEach(r -> r.send(Integer.toString(count)));
    return ranks.stream().mapToDouble(r -> Double.parseDouble(r.receive(RUN))).max().orElseThrow();
  }

  @Override
  public void close() {
    ranks.forEach(ChildProcess::close);
    others.forEach(ChildProcess::close);
  }
}
