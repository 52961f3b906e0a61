package dev.millrace.graph;

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
   * Runs the function on the device of its kernel. The arguments are borrowed; the caller owns one
   * counted reference of each result. Ends soon after the cancellation.
   */
  Tensor[] call(List<Tensor> arguments, Cancellation cancellation);

  /** The same function with fresh kernels: counters and random sequences start again. */
  Procedure fresh();

  /** The types of the arguments. */
  List<DType> arguments();

  /** The types of the results. */
  List<DType> results();
}
