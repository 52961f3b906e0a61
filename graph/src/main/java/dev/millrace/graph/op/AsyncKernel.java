package dev.millrace.graph.op;

/**
 * A kernel that may have to wait: it starts the work and returns at once. When the outputs are set
 * (or {@link KernelContext#fail} was called) it runs {@code done}, exactly once, from any thread,
 * possibly before {@code start} returns. It must end soon after the step's cancellation.
 */
@FunctionalInterface
public interface AsyncKernel {
  /**
   * Starts the work; {@code done} is called once, by any thread, when the outputs are set or it
   * failed.
   */
  void start(KernelContext c, Runnable done);
}
