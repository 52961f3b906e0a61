package dev.millrace.job;

import dev.millrace.base.MillraceException;
import dev.millrace.job.flags.ProgramFlags;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;

/**
 * How a job trains, as its flags say.
 *
 * @param steps global steps, all workers together; where the job ends by epochs, about as many
 * @param epochs after how many passes over the data the job ends; 0 if it ends by steps
 * @param folder where checkpoints, summaries and the result go; null for nowhere
 * @param evaluateEvery steps between two evaluations; 0 for one at the end
 * @param patience steps without a better model after which training ends; 0 for never
 * @param stepTimeout how long a step may take; null for no limit
 */
record TrainingPlan(
    Mode mode,
    long steps,
    long epochs,
    int batchSize,
    Path folder,
    Duration saveEvery,
    long evaluateEvery,
    long patience,
    Duration stepTimeout,
    int backupWorkers,
    int stalenessBound,
    long seed) {
  /** What {@code flags} say for a job at {@code place}; {@code examples} are about in one epoch. */
  static TrainingPlan of(
      ProgramFlags flags,
      Place place,
      ToIntFunction<ProgramFlags> usualEpochs,
      LongSupplier examples) {
    Mode mode = place.mode();
    int workers = place.workers();
    int batch = positive(flags.integer(JobFlags.BATCH_SIZE), JobFlags.BATCH_SIZE);
    Integer given = flags.integer(JobFlags.EPOCHS);
    int epochs = positive(given != null ? given : usualEpochs.applyAsInt(flags), JobFlags.EPOCHS);
    int backup = atLeastZero(flags.integer(JobFlags.BACKUP_WORKERS), JobFlags.BACKUP_WORKERS);
    if (backup > 0 && (mode != Mode.SYNC || backup >= workers)) {
      throw MillraceException.invalid(
          "--backup-workers is %d; only --mode sync has them, and at least one of the %d workers"
              + " must be waited for.",
          backup, workers);
    }
    Double rate = flags.number(JobFlags.LEARNING_RATE);
    if (rate != null && !(rate > 0 && rate < Double.POSITIVE_INFINITY)) {
      throw MillraceException.invalid("--learning-rate is %s; it must be a number above 0.", rate);
    }
    Long steps = flags.longInteger(JobFlags.STEPS);
    if (steps != null && flags.isGiven(JobFlags.EPOCHS)) {
      throw MillraceException.invalid("Give --steps or --epochs, not both.");
    }
    if (steps != null) {
      positive(steps, JobFlags.STEPS);
    }
    long evaluateEvery =
        atLeastZero(flags.longInteger(JobFlags.EVALUATE_EVERY), JobFlags.EVALUATE_EVERY);
    long patience = atLeastZero(flags.longInteger(JobFlags.PATIENCE), JobFlags.PATIENCE);
    if (patience > 0 && evaluateEvery == 0) {
      throw MillraceException.invalid(
          "--patience is %d, but the model is evaluated at the end alone: add --evaluate-every.",
          patience);
    }
    int together = mode == Mode.SYNC || mode == Mode.RING ? workers - backup : 1;
    int timeout = atLeastZero(flags.integer(JobFlags.STEP_TIMEOUT), JobFlags.STEP_TIMEOUT);
    long count = steps != null ? 0 : examples.getAsLong();
    return new TrainingPlan(
        mode,
        steps != null ? steps : stepsOf(epochs, count, (long) batch * together),
        // With backup workers some examples are passed over, and their number says nothing.
        steps != null || backup > 0 || count == 0 ? 0 : epochs,
        batch,
        flags.path(JobFlags.LOG_DIR),
        Duration.ofSeconds(positive(flags.integer(JobFlags.SAVE_EVERY), JobFlags.SAVE_EVERY)),
        evaluateEvery,
        patience,
        timeout == 0 ? null : Duration.ofSeconds(timeout),
        backup,
        atLeastZero(flags.integer(JobFlags.STALENESS_BOUND), JobFlags.STALENESS_BOUND),
        flags.longInteger(JobFlags.SEED));
  }

  /** Whether the job ends when every example was trained in every epoch. */
  boolean endsByEpochs() {
    return epochs > 0;
  }

  private static long stepsOf(int epochs, long examples, long perStep) {
    return Math.max(1, Math.ceilDiv(epochs * examples, perStep));
  }

  /** Checks that {@code value} is at least 1. */
  static <N extends Number> N positive(N value, String flag) {
    return atLeast(1, value, flag);
  }

  private static <N extends Number> N atLeastZero(N value, String flag) {
    return atLeast(0, value, flag);
  }

  private static <N extends Number> N atLeast(long least, N value, String flag) {
    if (value.longValue() < least) {
      throw MillraceException.invalid("--%s is %s; it must be at least %d.", flag, value, least);
    }
    return value;
  }
}
