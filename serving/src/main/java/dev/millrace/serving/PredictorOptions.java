package dev.millrace.serving;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.graph.OpRegistry;
import dev.millrace.ops.StandardOps;
import dev.millrace.serving.batch.Batching;
import java.time.Duration;
import java.util.Set;

/**
 * How a {@link Predictor} works.
 *
 * @param tags the tags of the graph to load; TensorFlow's exports for serving have {@code serve}
 * @param batchRows the rows that calls of several threads may be put together to; 1 for no batches
 * @param batchDelay how long a call may wait for others to fill its batch, although nothing is busy
 * @param registry the ops
 * @param timers the clock by which calls wait
 */
public record PredictorOptions(
    Set<String> tags, int batchRows, Duration batchDelay, OpRegistry registry, Timers timers) {
  /** The graph for serving; each call runs by itself. */
  public static final PredictorOptions DEFAULT =
      new PredictorOptions(
          Set.of("serve"), 1, Duration.ZERO, StandardOps.registry(), Context.current().timers());

  public PredictorOptions {
    tags = Set.copyOf(tags);
    if (batchRows < 1) {
      throw MillraceException.invalid("A batch needs at least one row, not %d.", batchRows);
    }
    if (batchDelay.isNegative()) {
      throw MillraceException.invalid("The delay of a batch is negative: %s.", batchDelay);
    }
  }

  /** Loads the graph with these tags instead. */
  public PredictorOptions withTags(Set<String> t) {
    return new PredictorOptions(t, batchRows, batchDelay, registry, timers);
  }

  /**
   * Puts calls of several threads together to batches of at most {@code rows} rows. While earlier
   * batches run on all processors, calls gather for the next one; {@code delay} lets a call wait
   * for others even if a processor is free, and may be zero.
   */
  public PredictorOptions withBatches(int rows, Duration delay) {
    return new PredictorOptions(tags, rows, delay, registry, timers);
  }

  /** Takes ops out of {@code r}. */
  public PredictorOptions withRegistry(OpRegistry r) {
    return new PredictorOptions(tags, batchRows, batchDelay, r, timers);
  }

  /** How calls are put together. */
  Batching batching() {
    return new Batching(batchRows, batchDelay, Runtime.getRuntime().availableProcessors(), timers);
  }
}
