package dev.millrace.graph.op;

import dev.millrace.base.Cancellation;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.List;

/**
 * A function of the graph that a kernel calls, in its step or long after it.
 *
 * <p>Threading: any thread that may wait; several at once.
 */
public interface Procedure {
  /**
   * Runs the function on the device of the kernel that asked for it. The arguments are borrowed;
   * each result has a counted reference that is the caller's. Ends soon after the cancellation.
   */
  Tensor[] call(List<Tensor> arguments, Cancellation cancellation);

  /** The same function with kernels of its own: what those have counted or drawn begins anew. */
  Procedure fresh();

  /** The types of what it takes. */
  List<DType> arguments();

  /** The types of what it gives. */
  List<DType> results();
}
