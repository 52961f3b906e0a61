package dev.millrace.examples.mnist;

import java.io.PrintStream;
import java.util.Locale;

/** Shows how training goes: one line that is rewritten on a terminal, plain lines elsewhere. */
public final class Progress {
  private static final long LINE_NANOS = 2_000_000_000L;
  private static final long REWRITE_NANOS = 200_000_000L;

  private final PrintStream out;
  private final long steps;
  private final boolean terminal;
  private long start;
  private long firstStep = -1;
  private long shown = System.nanoTime();
  private double smoothed = Double.NaN;

  Progress(PrintStream out, long steps) {
    this(out, steps, System.console() != null && System.console().isTerminal());
  }

  /** Shows the way to {@code steps}; on a terminal one line is written again and again. */
  public Progress(PrintStream out, long steps, boolean terminal) {
    this.out = out;
    this.steps = steps;
    this.terminal = terminal;
  }

  /** A step was made. */
  public void step(long step, double loss) {
    if (firstStep < 0) {
      // What came before, as waiting for other tasks, says nothing about the time left.
      firstStep = step;
      start = System.nanoTime();
    }
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

  /** There are no more steps. */
  public void end() {
    if (terminal) {
      out.println();
    }
  }
}
