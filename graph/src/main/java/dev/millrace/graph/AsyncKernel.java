package dev.millrace.graph;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/**
 * A kernel that may wait. It starts the work and returns at once. When the outputs are set, or
 * {@link KernelContext#fail} was called, it runs {@code done} exactly once, on any thread, possibly
 * before {@code start} returns. It must end soon after the step is cancelled.
 */
@FunctionalInterface
public interface AsyncKernel {
  /**
   * Starts the work. The kernel runs {@code done} once, on any thread, after it set the outputs or
   * failed.
   */
  void start(KernelContext c, Runnable done);

  /**
   * Memory for a value that is this kernel's first input and read by nobody else, where the kernel
   * wants it, so that it need not be copied; null where any memory will do. The caller's with one
   * counted reference.
   */
  default Tensor room(DType dtype, Shape shape) {
    return null;
  }
}
