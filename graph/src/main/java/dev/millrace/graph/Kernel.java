package dev.millrace.graph;

/**
 * The computation of a node: reads its inputs from the context and sets every output. An output
 * that is not set is dead, and nodes that depend on it do not run.
 *
 * <p>Threading: several steps may call one kernel concurrently.
 */
@FunctionalInterface
public interface Kernel {
  /** Computes the outputs from the inputs. */
  void compute(KernelContext c);
}
