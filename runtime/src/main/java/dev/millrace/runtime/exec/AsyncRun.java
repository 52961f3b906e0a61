package dev.millrace.runtime.exec;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Procedure;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.Variable;
import dev.millrace.tensor.DeviceMemory;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;

/**
 * One execution of an asynchronous kernel: the context it works with and the callback it ends with.
 * Inputs are held until the run's thread has taken the result up.
 */
final class AsyncRun implements KernelContext, Runnable {
  private final GraphRun run;
  private final Object place;
  private final int index;
  private final Object[] inputs;
  private final Object[] outputs;
  private final String frameAndIteration;
  private MillraceException failure;

  /** Dereferenced inputs, made when first asked for. */
  private Tensor[] read;

  private boolean starting = true;
  private boolean done;

  /** An execution of the run's current node; {@code place} is for the run to know it by. */
  AsyncRun(GraphRun run, int index, Object place) {
    this.run = run;
    this.index = index;
    this.place = place;
    this.frameAndIteration = run.frameAndIteration();
    CompiledGraph g = run.graph;
    inputs = new Object[g.inputStart[index + 1] - g.inputStart[index]];
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = run.value(i);
    }
    outputs = new Object[g.outputStart[index + 1] - g.outputStart[index]];
  }

  /** The kernel's "done". */
  @Override
  public void run() {
    synchronized (this) {
      if (done) {
        throw new IllegalStateException(node() + " completed twice");
      }
      done = true;
      if (starting) {
        return;
      }
    }
    run.complete(this);
  }

  /** After start returned: whether the kernel was done by then. If not, it will call complete. */
  synchronized boolean completedInline() {
    starting = false;
    return done;
  }

  int index() {
    return index;
  }

  Object place() {
    return place;
  }

  Object[] outputs() {
    return outputs;
  }

  MillraceException failure() {
    return failure;
  }

  synchronized void releaseInputs() {
    if (read != null) {
      for (Tensor t : read) {
        if (t != null) {
          Refs.release(t);
        }
      }
      read = null;
    }
  }

  @Override
  public Node node() {
    return run.graph.nodes[index];
  }

  @Override
  public int inputCount() {
    return inputs.length;
  }

  @Override
  public synchronized Tensor input(int i) {
    if (inputs[i] instanceof Tensor t) {
      return t;
    }
    if (read == null) {
      read = new Tensor[inputs.length];
    }
    if (read[i] == null) {
      read[i] = ((Variable) inputs[i]).read();
    }
    return read[i];
  }

  @Override
  public Variable ref(int i) {
    return GraphRun.asVariable(inputs[i], node(), i);
  }

  @Override
  public boolean isDead(int i) {
    return inputs[i] == null;
  }

  @Override
  public void output(int i, Tensor value) {
    if (outputs[i] instanceof Tensor old) {
      Refs.release(old);
    }
    outputs[i] = Refs.counted(value);
  }

  @Override
  public void outputRef(int i, Variable variable) {
    outputs[i] = variable;
  }

  @Override
  public void forward(int i, int j) {
    outputs[i] = inputs[j] instanceof Tensor t ? Refs.retain(t) : inputs[j];
  }

  @Override
  public void fail(MillraceException cause) {
    failure = cause;
  }

  @Override
  public synchronized Tensor reusable(int i) {
    return starting ? run.reusable(i) : null;
  }

  @Override
  public DeviceMemory memory() {
    return run.graph.memory;
  }

  @Override
  public Resources resources() {
    return run.resources();
  }

  @Override
  public Rendezvous rendezvous() {
    return run.rendezvous();
  }

  @Override
  public Cancellation cancellation() {
    return run.cancellation();
  }

  @Override
  public Procedure procedure(AttrValue.Func function) {
    return run.procedure(function);
  }

  @Override
  public long stepId() {
    return run.stepId();
  }

  @Override
  public String frameAndIteration() {
    return frameAndIteration;
  }

  @Override
  public void afterRun(Runnable cleanup) {
    run.afterRun(cleanup);
  }
}
