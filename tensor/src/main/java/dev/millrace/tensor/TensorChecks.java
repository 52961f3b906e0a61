package dev.millrace.tensor;

import dev.millrace.base.config.ComputeSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.leak.LeakCheck;

/** The switches that find mistakes in the use of tensors. They are read once. */
final class TensorChecks {
  /**
   * Records where tensors are closed, so that an error about a closed one has that as its cause.
   */
  static final boolean RECORDS_CLOSE = Config.ofProcess().get(ComputeSettings.TENSOR_DEBUG);

  private TensorChecks() {}

  /** Whether the segments that programs get of tensors are checked for use after close. */
  static final boolean CHECKS_SEGMENTS = RECORDS_CLOSE || LeakCheck.ON;
}
