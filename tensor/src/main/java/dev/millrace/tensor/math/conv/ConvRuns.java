package dev.millrace.tensor.math.conv;

import java.lang.foreign.MemorySegment;

/**
 * One of the three computations of a convolution, run on one lot of images after the other with the
 * same filter. What it takes to bring the filter into another layout is done once for all lots.
 *
 * <p>Threading: one thread computes a gradient of the filter; any number may run the other two.
 */
interface ConvRuns extends AutoCloseable {
  /** Computes a lot of images; a gradient of the filter is added to that of the lots before. */
  void run(MemorySegment input, MemorySegment output);

  /** To be called after the last lot: only then is a gradient of the filter where it belongs. */
  void finish();

  /** Gives back what the runs have needed. */
  @Override
  void close();
}
