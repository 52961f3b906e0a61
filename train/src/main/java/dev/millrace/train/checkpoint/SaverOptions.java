package dev.millrace.train.checkpoint;

import dev.millrace.base.MillraceException;
import java.time.Duration;

/**
 * What a {@link Saver} keeps and how it writes.
 *
 * @param maxToKeep how many checkpoints are kept, the oldest going first; 0 for all
 * @param keepOneEvery beside those, one for each such span of time is kept for good
 * @param sharded whether each device's variables are written by the task they live on, all at once,
 *     rather than gathered in one place first
 * @param metaGraph whether the graph is written beside each checkpoint, as {@code PREFIX.meta}
 */
public record SaverOptions(
    int maxToKeep, Duration keepOneEvery, boolean sharded, boolean metaGraph) {
  /** TensorFlow's: five checkpoints, one file, the graph beside it. */
  public static final SaverOptions DEFAULT =
      new SaverOptions(5, Duration.ofHours(10_000), false, true);

  public SaverOptions {
    if (maxToKeep < 0 || keepOneEvery.isNegative() || keepOneEvery.isZero()) {
      throw MillraceException.invalid(
          "A saver cannot keep %d checkpoints and one every %s: need 0 or more, and a span of"
              + " time.",
          maxToKeep, keepOneEvery);
    }
  }

  /** Keeps this many checkpoints; 0 for all. */
  public SaverOptions withMaxToKeep(int n) {
    return new SaverOptions(n, keepOneEvery, sharded, metaGraph);
  }

  /** Keeps one checkpoint for each such span of time for good. */
  public SaverOptions withKeepOneEvery(Duration span) {
    return new SaverOptions(maxToKeep, span, sharded, metaGraph);
  }

  /** Lets each task write its own variables. */
  public SaverOptions withSharded(boolean yes) {
    return new SaverOptions(maxToKeep, keepOneEvery, yes, metaGraph);
  }

  /** Writes the graph beside each checkpoint, or does not. */
  public SaverOptions withMetaGraph(boolean yes) {
    return new SaverOptions(maxToKeep, keepOneEvery, sharded, yes);
  }
}
