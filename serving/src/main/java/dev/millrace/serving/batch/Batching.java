package dev.millrace.serving.batch;

import dev.millrace.base.Timers;
import java.time.Duration;

/**
 * How calls are put together to batches.
 *
 * @param rows the rows of a batch at most
 * @param delay how long a call may wait for others although it could run
 * @param parallel how many batches run at once
 * @param timers the clock
 */
public record Batching(int rows, Duration delay, int parallel, Timers timers) {}
