package dev.millrace.graph;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.Variable;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;

/** Runs a single synchronous node outside a session, for constants, folding and tests. */
public final class Eager implements KernelContext {
  private final Node node;
  private final Tensor[] inputs;
  private final Tensor[] outputs;
  private final Resources resources;
  private final Cancellation cancellation = new Cancellation();
  private MillraceException failure;

  private Eager(Node node, Tensor[] inputs, Resources resources) {
    this.node = node;
    this.inputs = inputs;
    this.outputs = new Tensor[node.outputCount()];
    this.resources = resources;
  }

  /** The outputs of {@code node} on these inputs, each with a counted reference. */
  public static Tensor[] run(Node node, Tensor... inputs) {
    return run(node, new Resources(), inputs);
  }

  /** Runs a node once, on the given resources. */
  public static Tensor[] run(Node node, Resources resources, Tensor... inputs) {
    return run(node, node.op().kernelFor(node), resources, inputs);
  }

  /** Runs a node once with an existing kernel, which may hold state from earlier runs. */
  public static Tensor[] run(Node node, Kernel kernel, Resources resources, Tensor... inputs) {
    Eager e = new Eager(node, inputs, resources);
    boolean complete = false;
    try {
      kernel.compute(e);
      if (e.failure != null) {
        throw e.failure;
      }
      complete = true;
      return e.outputs;
    } finally {
      if (!complete) {
        Refs.releaseAll(e.outputs);
      }
    }
  }

  @Override
  public Node node() {
    return node;
  }

  @Override
  public int inputCount() {
    return inputs.length;
  }

  @Override
  public Tensor input(int i) {
    return inputs[i];
  }

  @Override
  public Variable ref(int i) {
    throw new IllegalStateException(node + " was run on its own and has no references");
  }

  @Override
  public boolean isDead(int i) {
    return false;
  }

  @Override
  public void output(int i, Tensor value) {
    if (outputs[i] != null) {
      Refs.release(outputs[i]);
    }
    outputs[i] = Refs.counted(value);
  }

  @Override
  public void outputRef(int i, Variable variable) {
    output(i, variable.read());
  }

  @Override
  public void forward(int i, int j) {
    output(i, Refs.retain(inputs[j]));
  }

  @Override
  public void fail(MillraceException cause) {
    failure = cause;
  }

  @Override
  public Tensor reusable(int i) {
    return null;
  }

  @Override
  public Resources resources() {
    return resources;
  }

  @Override
  public Rendezvous rendezvous() {
    throw new IllegalStateException(node + " was run on its own and has no rendezvous");
  }

  @Override
  public Cancellation cancellation() {
    return cancellation;
  }

  @Override
  public long stepId() {
    return 0;
  }
}
