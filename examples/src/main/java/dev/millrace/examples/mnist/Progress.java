package dev.millrace.examples.mnist;

import java.io.PrintStream;
import java.util.Locale;

/** Shows how training goes: one line that is rewritten on a terminal, plain lines elsewhere. */
final class Progress {
  private static final long LINE_NANOS = 2_000_000_000L;
  private static final long REWRITE_NANOS = 200_000_000L;

  private final PrintStream out;
  private final long steps;
  private final boolean terminal = System.console() != null && System.console().isTerminal();
  private final long start = System.nanoTime();
  private long firstStep = -1;
  private long shown = start;
  private double smoothed = Double.NaN;

  Progress(PrintStream out, long steps) {
    this.out = out;
    this.steps = steps;
  }

  void step(long step, double loss) {
    firstStep = firstStep < 0 ? step : firstStep;
    smoothed = Double.isNaN(smoothed) ? loss : 0.95 * smoothed + 0.05 * loss;
    long now = System.nanoTime();
    if (now - shown < (terminal ? REWRITE_NANOS : LINE_NANOS) && step < steps) {
      return;
    }
    shown = now;
    double rate = (step - firstStep) / ((now - start) / 1e9);
    String line =
        String.format(
            Locale.ROOT,
            "step %d/%d  loss %.4f  %.0f steps/s  %.0f s left",
            Math.min(step, steps),
            steps,
            smoothed,
            rate,
            rate > 0 ? Math.max(0, steps - step) / rate : 0);
    if (terminal) {
      out.print("\r" + line + "   ");
    } else {
      out.println(line);
    }
    out.flush();
  }

  void end() {
    if (terminal) {
      out.println();
    }
  }
}
