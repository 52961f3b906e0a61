package dev.millrace.graph;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.Variable;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.DeviceMemory;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/**
 * A kernel's view of one execution of its node. Inputs are borrowed: they are valid until the
 * kernel has finished, and the kernel must not release them. The context takes one counted
 * reference of each output.
 */
public interface KernelContext {
  /** The node, for messages. Read attributes when the kernel is created, not here. */
  Node node();

  /** How many inputs the node has. */
  int inputCount();

  /**
   * The value of data input {@code i}. For a reference it is the variable's tensor at this moment,
   * in the variable's own memory: later updates show through.
   */
  Tensor input(int i);

  /** The variable that reference input {@code i} refers to. */
  Variable ref(int i);

  /** Whether input {@code i} is dead; only nodes that run on dead inputs need to ask. */
  boolean isDead(int i);

  /**
   * Sets output {@code i}, taking over one reference to {@code value} if that is counted. A handle
   * stays the kernel's own: the output is then another tensor in the same memory.
   */
  void output(int i, Tensor value);

  /** Sets output {@code i} to a reference. */
  void outputRef(int i, Variable variable);

  /** Sets output {@code i} to input {@code j} itself, reference or value, without copying. */
  void forward(int i, int j);

  /** Ends the execution with an error. A synchronous kernel may throw instead. */
  void fail(MillraceException cause);

  /** The memory of the device that the node runs on. */
  default DeviceMemory memory() {
    return DeviceMemory.HOST;
  }

  /**
   * Makes and sets output {@code i}: a tensor of the output's type with undefined contents, in the
   * memory of the device.
   */
  default Tensor allocate(int i, Shape shape) {
    Tensor t = memory().allocate(node().output(i).dtype(), shape);
    output(i, t);
    return t;
  }

  /**
   * Like {@link #allocate}, but reuses the memory of input {@code j} if this kernel is its last
   * reader and type and size match. The kernel must then work in place.
   */
  default Tensor allocateOrReuse(int i, int j, Shape shape) {
    Tensor in = reusable(j);
    DType type = node().output(i).dtype();
    if (in != null && in.dtype() == type && in.elements() == shape.elements()) {
      Tensor t = Refs.reshaped(in, shape);
      output(i, t);
      return t;
    }
    return allocate(i, shape);
  }

  /**
   * Input {@code i} if this node is its last reader and may overwrite it, else null. An
   * asynchronous kernel may ask while it starts.
   */
  Tensor reusable(int i);

  /** The queues, variables and other state of the device. */
  Resources resources();

  /** The rendezvous through which this step exchanges tensors with other devices. */
  Rendezvous rendezvous();

  /** The step's cancellation. */
  Cancellation cancellation();

  /** The fed values of an in-process run, read by {@link Op.Role#ARG}. */
  default Tensor argument(int index) {
    throw new IllegalStateException("no arguments in this step");
  }

  /** Takes a fetched value of an in-process run, given by {@link Op.Role#RETVAL}. */
  default void result(int index, Tensor value) {
    throw new IllegalStateException("no results in this step");
  }

  /** The function that an attribute of the node names, ready to be called on this device. */
  default Procedure procedure(AttrValue.Func function) {
    throw new IllegalStateException(
        node() + " runs outside a session, where functions cannot be called");
  }

  /** The id of the step, unique among running steps. */
  long stepId();

  /**
   * Registers an action that runs when this device's part of the step has ended, successfully or
   * not.
   */
  default void afterRun(Runnable cleanup) {
    throw new IllegalStateException(node() + " needs a step to run in");
  }

  /** {@code frame:iteration}, the last part of a rendezvous key; {@code 0:0} outside loops. */
  default String frameAndIteration() {
    return "0:0";
  }
}
