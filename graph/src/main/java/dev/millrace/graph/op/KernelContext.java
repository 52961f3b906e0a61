package dev.millrace.graph.op;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Node;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/**
 * A kernel's view of one execution of its node. Inputs are borrowed: valid until the kernel is done
 * and not to be released. Outputs handed over carry a counted reference that the context takes.
 */
public interface KernelContext {
  /** The node being run, for messages; attributes are better read when the kernel is made. */
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

  /** Sets output {@code i}, taking over one counted reference to {@code value}. */
  void output(int i, Tensor value);

  /** Sets output {@code i} to a reference. */
  void outputRef(int i, Variable variable);

  /** Sets output {@code i} to input {@code j} itself, reference or value, without copying. */
  void forward(int i, int j);

  /** Ends an execution with an error. Synchronous kernels may as well throw. */
  void fail(MillraceException cause);

  /** Makes and sets output {@code i}: a tensor of the output's type with undefined contents. */
  default Tensor allocate(int i, Shape shape) {
    Tensor t = Tensor.allocateCounted(node().output(i).dtype(), shape);
    output(i, t);
    return t;
  }

  /**
   * Like {@link #allocate}, but in the memory of input {@code j} if nobody else reads that any more
   * and type and size agree. The kernel must then be able to work in place.
   */
  default Tensor allocateOrReuse(int i, int j, Shape shape) {
    Tensor in = reusable(j);
    DType type = node().output(i).dtype();
    if (in != null && in.dtype() == type && in.elements() == shape.elements()) {
      Tensor t = in.reshaped(shape);
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

  /** Where this step's tensors meet those of other devices. */
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

  /** Which step this is; no two at one time have the same. */
  long stepId();

  /** Has something done when this device's part of the step has ended, well or badly. */
  default void afterRun(Runnable cleanup) {
    throw new IllegalStateException(node() + " needs a step to run in");
  }

  /** {@code frame:iteration}, the last part of a rendezvous key; {@code 0:0} outside loops. */
  default String frameAndIteration() {
    return "0:0";
  }
}
