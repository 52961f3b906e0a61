package dev.millrace.cluster.peer;

import dev.millrace.graph.Rendezvous;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** A way to another task on which tensors are pushed instead of being asked for. */
public interface PushChannel {
  /**
   * Sends a value to a step on the other task, or null for a dead one. Takes over one counted
   * reference. It leaves soon, together with what else is sent meanwhile.
   */
  void push(long stepId, Rendezvous.Key key, Tensor value);

  /** A copy of a value that may change, in the memory it is best sent from. */
  Tensor stage(Tensor value);

  /** Memory for a value to push, in which it need not be copied; null where there is none. */
  Tensor room(DType dtype, Shape shape);

  /** Has what was pushed leave now. */
  void flush();
}
