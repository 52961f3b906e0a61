package dev.millrace.graph.op;

/**
 * What a node does in a step: reads its inputs from the context and sets every output. An output
 * left unset is dead: nothing that depends on it runs. Called from several threads at once if
 * several steps run.
 */
@FunctionalInterface
public interface Kernel {
  /** Computes the outputs from the inputs. */
  void compute(KernelContext c);
}
