package dev.millrace.ops;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Eager;
import dev.millrace.graph.Graph;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.Variable;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs small graphs with state in tests: a node after its inputs, in their order, on the calling
 * thread. Unlike {@link Eager} it knows references, control edges and kernels that wait.
 */
public final class TinySession implements AutoCloseable {
  private static final long DEADLINE_SECONDS = 20;

  private final Graph graph = StandardOps.newGraph();
  private final Scope scope = Scope.of(graph);
  private final Resources resources = new Resources();

  public Scope scope() {
    return scope;
  }

  public Resources resources() {
    return resources;
  }

  /** Ends what the graphs left: variables, queues. */
  @Override
  public void close() {
    resources.closeAll();
  }

  public Output constant(Tensor t) {
    return Const.of(scope, t);
  }

  /** The values of these outputs; the test owns them. */
  public Tensor[] run(Output... fetches) {
    return new Step(new Cancellation()).run(List.of(), List.of(fetches));
  }

  /** The value of one output; the test owns it. */
  public Tensor fetch(Output fetch) {
    return run(fetch)[0];
  }

  /** Runs nodes in this order for what they do. */
  public void run(Node... targets) {
    new Step(new Cancellation()).run(List.of(targets), List.of());
  }

  /** Starts a run that may have to wait. */
  public Pending start(Node target) {
    return new Pending(target);
  }

  /** A run on a thread of its own. */
  public final class Pending {
    private final Cancellation cancellation = new Cancellation();
    private final FutureTask<Tensor[]> task;
    private final CountDownLatch waiting = new CountDownLatch(1);

    private Pending(Node target) {
      Step step = new Step(cancellation);
      step.onWait = waiting::countDown;
      task = new FutureTask<>(() -> step.run(List.of(target), target.outputs()));
      Thread.ofVirtual().start(task);
    }

    /** Returns when the last node has been started and is waiting, or the run is over. */
    public Pending awaitStarted() {
      try {
        if (!waiting.await(DEADLINE_SECONDS, TimeUnit.SECONDS)) {
          throw new AssertionError("the run did not start");
        }
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      return this;
    }

    public boolean isDone() {
      return task.isDone();
    }

    public void cancel() {
      cancellation.cancel(new MillraceException(Code.CANCELLED, "Step was cancelled"));
    }

    public Tensor[] get() {
      try {
        return task.get(DEADLINE_SECONDS, TimeUnit.SECONDS);
      } catch (ExecutionException e) {
        throw MillraceException.of(e.getCause());
      } catch (TimeoutException | InterruptedException e) {
        throw new AssertionError("still waiting after " + DEADLINE_SECONDS + " s", e);
      }
    }
  }

  private final class Step {
    private final Cancellation cancellation;
    private final Map<Node, Run> runs = new HashMap<>();
    private Runnable onWait = () -> {};

    Step(Cancellation cancellation) {
      this.cancellation = cancellation;
    }

    Tensor[] run(List<Node> targets, List<Output> fetches) {
      try {
        targets.forEach(this::of);
        Tensor[] values = new Tensor[fetches.size()];
        for (int i = 0; i < values.length; i++) {
          Run r = of(fetches.get(i).node());
          values[i] = r.value(fetches.get(i).index()).copy();
        }
        return values;
      } finally {
        onWait.run();
        runs.values().forEach(Run::release);
      }
    }

    private Run of(Node node) {
      Run r = runs.get(node);
      if (r == null) {
        node.controlInputs().forEach(this::of);
        node.inputs().forEach(in -> of(in.node()));
        r = new Run(node, this);
        runs.put(node, r);
        r.execute();
      }
      return r;
    }
  }

  private final class Run implements KernelContext {
    private final Node node;
    private final Step step;
    private final Object[] outputs;
    private final List<Tensor> held = new ArrayList<>();
    private MillraceException failure;

    Run(Node node, Step step) {
      this.node = node;
      this.step = step;
      this.outputs = new Object[node.outputCount()];
    }

    void execute() {
      if (!node.op().isAsync()) {
        node.op().kernelFor(node).compute(this);
      } else {
        CountDownLatch done = new CountDownLatch(1);
        node.op().asyncKernelFor(node).start(this, done::countDown);
        step.onWait.run();
        try {
          if (!done.await(DEADLINE_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError(node + " is still waiting");
          }
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
      if (failure != null) {
        throw failure;
      }
    }

    Tensor value(int i) {
      if (outputs[i] instanceof Variable v) {
        Tensor t = v.read();
        held.add(t);
        return t;
      }
      return (Tensor) outputs[i];
    }

    void release() {
      held.forEach(Refs::release);
      for (Object o : outputs) {
        if (o instanceof Tensor t) {
          Refs.release(t);
        }
      }
    }

    private Object raw(int i) {
      Output in = node.input(i);
      return step.of(in.node()).outputs[in.index()];
    }

    @Override
    public Node node() {
      return node;
    }

    @Override
    public int inputCount() {
      return node.inputCount();
    }

    @Override
    public Tensor input(int i) {
      Output in = node.input(i);
      return step.of(in.node()).value(in.index());
    }

    @Override
    public Variable ref(int i) {
      return (Variable) raw(i);
    }

    @Override
    public boolean isDead(int i) {
      return false;
    }

    @Override
    public void output(int i, Tensor value) {
      if (outputs[i] != null) {
        throw new AssertionError(node + " sets output " + i + " twice");
      }
      outputs[i] = Refs.counted(value);
    }

    @Override
    public void outputRef(int i, Variable variable) {
      outputs[i] = variable;
    }

    @Override
    public void forward(int i, int j) {
      Object o = raw(j);
      outputs[i] = o instanceof Tensor t ? Refs.retain(t) : o;
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
      throw new AssertionError("no rendezvous in this test");
    }

    @Override
    public Cancellation cancellation() {
      return step.cancellation;
    }

    @Override
    public long stepId() {
      return 1;
    }
  }
}
