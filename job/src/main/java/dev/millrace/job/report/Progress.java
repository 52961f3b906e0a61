package dev.millrace.job.report;

import dev.millrace.base.Gauges;
import dev.millrace.base.Timers;
import java.io.PrintStream;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongSupplier;

/** Shows how training goes: one line that is rewritten on a terminal, plain lines elsewhere. */
public final class Progress {
  private static final long LINE_NANOS = 2_000_000_000L;
  private static final long REWRITE_NANOS = 200_000_000L;

  /** While a program warms up each stretch of time is so much faster than the last, for so long. */
  private static final double FASTER = 1.5;

  private static final long WARM_UP_NANOS = 30_000_000_000L;

  /** From the left edge on; what is too long for a narrow terminal is cut, not wrapped. */
  private static final String BEGIN = "\r\033[?7l";

  /** Clears what stood behind, and has lines wrap again. */
  private static final String END = "\033[K\033[?7h";

  private final PrintStream out;
  private final long steps;
  private final boolean terminal;

  /** Whether to show how many of the steps were made here. */
  private final boolean worker;

  private final LongSupplier clock;
  private long shown;
  private long shownStep = -1;
  private long own;
  private long shownOwn;
  private volatile double loss = Double.NaN;

  /** The last step that was made, for gauges. */
  private volatile long made;

  private double rate = Double.NaN;
  private double ownRate = Double.NaN;

  /**
   * When the first line was shown; when, and at which step, a stretch began; the last one's rate.
   */
  private long first;

  private long stretch;
  private long stretchStep;
  private double stretchRate = Double.NaN;

  /** Whether the rate is no longer that of a program that warms up. */
  private boolean settled;

  /** Shows the way to {@code steps}; on a terminal one line is written again and again. */
  public Progress(PrintStream out, long steps, boolean terminal) {
    this(out, steps, terminal, false, Timers.system()::now);
  }

  Progress(PrintStream out, long steps, boolean terminal, boolean worker, LongSupplier clock) {
    this.out = out;
    this.steps = steps;
    this.terminal = terminal;
    this.worker = worker;
    this.clock = clock;
    this.shown = clock.getAsLong();
  }

  /** The same for one worker of several, which also shows its own part of the steps. */
  public Progress ofWorker() {
    return new Progress(out, steps, terminal, true, clock);
  }

  /** Shows the step, how many there are to be, and the loss. */
  void show(Gauges gauges) {
    gauges.show("step", () -> made);
    gauges.show("steps", () -> steps);
    gauges.show("loss", () -> loss);
  }

  /** A step was made. */
  public void step(long step, double stepLoss) {
    own++;
    loss = mixed(loss, stepLoss, 0.05);
    made = step;
    long now = clock.getAsLong();
    boolean due = now - shown >= (terminal ? REWRITE_NANOS : LINE_NANOS);
    // The first step is shown at once: it ends the wait for other tasks.
    if (shownStep >= 0 && !due && step < steps) {
      return;
    }
    // What came before the first line, as waiting for other tasks, says nothing about the rate; nor
    // do early steps say much about later ones, which run faster.
    if (shownStep >= 0) {
      double seconds = (now - shown) / 1e9;
      double weight = terminal ? 0.1 : 0.5;
      rate = mixed(rate, (step - shownStep) / seconds, weight);
      ownRate = mixed(ownRate, (own - shownOwn) / seconds, weight);
      settle(step, now);
    } else {
      first = now;
      stretch = now;
      stretchStep = step;
    }
    shown = now;
    show(step);
  }

  /** Compares stretches of the same length, however often a line is shown. */
  private void settle(long step, long now) {
    if (now - stretch >= LINE_NANOS) {
      double last = (step - stretchStep) * 1e9 / (now - stretch);
      settled |= last < FASTER * stretchRate || now - first > WARM_UP_NANOS;
      stretch = now;
      stretchStep = step;
      stretchRate = last;
    }
  }

  private void show(long step) {
    shownStep = step;
    shownOwn = own;
    StringBuilder line = new StringBuilder();
    add(line, "step %d/%d", Math.min(step, steps), steps);
    if (own > 0) {
      add(line, "  loss %.4f", loss);
    }
    if (worker) {
      add(line, "  %d own steps", own);
    }
    if (rate > 0) {
      add(line, worker ? ", %.0f/s" : "  %.0f steps/s", worker ? ownRate : rate);
    }
    if (settled && rate > 0) {
      add(line, "  %s left", time(Math.round(Math.max(0, steps - step) / rate)));
    }
    if (terminal) {
      out.print(BEGIN + line + END);
    } else {
      out.println(line);
    }
    out.flush();
  }

  private static void add(StringBuilder line, String format, Object... values) {
    line.append(String.format(Locale.ROOT, format, values));
  }

  private static String time(long seconds) {
    return seconds < 100
        ? seconds + " s"
        : seconds < 6000
            ? Math.round(seconds / 60.) + " min"
            : seconds / 3600 + " h " + seconds % 3600 / 60 + " min";
  }

  /** The model was evaluated at {@code step}. */
  public void evaluated(long step, Map<String, Double> metrics) {
    StringBuilder line = new StringBuilder(terminal ? BEGIN : "");
    add(line, "step %d/%d  evaluation:", Math.min(step, steps), steps);
    metrics.forEach((name, value) -> add(line, "  %s %.4f", name, value));
    out.println(line + (terminal ? END : ""));
    out.flush();
  }

  /** Shows a sentence in a line of its own. */
  public void say(String sentence) {
    out.println(terminal ? BEGIN + sentence + END : sentence);
    out.flush();
  }

  /** A mean that follows what is new. */
  private static double mixed(double mean, double value, double weight) {
    return Double.isNaN(mean) ? value : (1 - weight) * mean + weight * value;
  }

  /** Training has ended at {@code step}, which the last step may not have seen itself. */
  public void end(long step) {
    if (Math.min(step, steps) > shownStep) {
      show(step);
    }
    if (terminal) {
      out.println();
    }
  }
}
