package dev.millrace.runtime.exec;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.op.KernelContext;
import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.Rendezvous;
import dev.millrace.graph.op.Resources;
import dev.millrace.graph.op.Variable;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One execution of a {@link CompiledGraph} without loops, on the thread that calls {@link #run}. A
 * node runs when the last of its inputs has arrived; its kernel's outputs are put into their slots
 * and the consumers counted down. A tensor goes back to the pool when its last reader is done.
 *
 * <p>Asynchronous kernels are started and left; when one completes, on whatever thread, this run's
 * thread is woken and goes on. The run ends when nothing is ready and nothing is outstanding, so it
 * never leaves a kernel behind, failed or not.
 *
 * <p>A null in a slot that has been produced means the value is dead. A node with a dead input does
 * not run and all its outputs are dead; the roles in {@link Op.Role} say who is exempt.
 */
public final class StepRun implements KernelContext {
  private static final Logger LOG = LoggerFactory.getLogger(StepRun.class);
  private static final long REPORT_NANOS = 10_000_000_000L;
  private static final int SPINS = 200;

  private final CompiledGraph graph;
  private final Step step;
  private final Resources resources;
  private final CompiledGraph.StepState state;
  private final Thread thread = Thread.currentThread();

  /** The node whose kernel is running. */
  private int current;

  /** Values of references read for the current kernel, released when it is done. */
  private Tensor[] dereferenced = new Tensor[4];

  private int dereferencedCount;
  private int readyHead;
  private int readyTail;
  private int outstanding;

  /** Asynchronous executions that have completed and wait to be taken up. */
  private final ArrayDeque<AsyncRun> completed = new ArrayDeque<>();

  private volatile boolean anyCompleted;

  /** Started and not completed, for the message about a step that does not end. */
  private List<AsyncRun> waiting;

  private StepRun(CompiledGraph graph, Step step, Resources resources) {
    this.graph = graph;
    this.step = step;
    this.resources = resources;
    this.state = graph.takeState();
  }

  /** Runs all of {@code graph}. A failure is left in the step; this returns when all is quiet. */
  public static void run(CompiledGraph graph, Step step, Resources resources) {
    StepRun r = new StepRun(graph, step, resources);
    r.runAll();
    if (step.hasFailed()) {
      r.state.releaseValues(graph);
    }
    r.state.reset(graph);
    graph.giveBack(r.state);
  }

  private void runAll() {
    int[] ready = state.ready;
    for (int root : graph.roots) {
      ready[readyTail++] = root;
    }
    long idleSince = 0;
    while (true) {
      while (readyHead < readyTail) {
        if (step.hasFailed()) {
          readyHead = readyTail;
          break;
        }
        execute(ready[readyHead++]);
        if (anyCompleted) {
          takeCompleted();
        }
      }
      if (anyCompleted) {
        takeCompleted();
        idleSince = 0;
        continue;
      }
      if (outstanding == 0) {
        return;
      }
      idleSince = awaitCompletion(idleSince);
    }
  }

  private void execute(int n) {
    Op.Role role = graph.roles[n];
    if (isDead(n, role)) {
      finish(n, true);
      return;
    }
    current = n;
    StepTrace trace = step.trace();
    long start = trace == null ? 0 : System.nanoTime();
    try {
      if (graph.asyncKernels[n] != null) {
        startAsync(n);
        return;
      }
      checkReferences(n);
      graph.kernels[n].compute(this);
    } catch (Throwable t) {
      step.fail(located(t, graph.nodes[n]));
    } finally {
      releaseDereferenced();
      if (trace != null) {
        trace.add(graph.nodes[n], start, System.nanoTime());
      }
    }
    finish(n, false);
  }

  private boolean isDead(int n, Op.Role role) {
    switch (role) {
      case SEND, RECV, CONTROL_TRIGGER, RETVAL:
        return false;
      case MERGE:
        for (int k = graph.inputStart[n]; k < graph.inputStart[n + 1]; k++) {
          if (state.values[graph.inputSlots[k]] != null) {
            return false;
          }
        }
        return true;
      default:
        if (state.dead[n]) {
          return true;
        }
        for (int k = graph.inputStart[n]; k < graph.inputStart[n + 1]; k++) {
          if (state.values[graph.inputSlots[k]] == null) {
            return true;
          }
        }
        return false;
    }
  }

  /** An op that does not say otherwise may not be given a variable that has no value. */
  private void checkReferences(int n) {
    Node node = graph.nodes[n];
    if (node.op().allowsUninitialized()) {
      return;
    }
    for (int k = graph.inputStart[n]; k < graph.inputStart[n + 1]; k++) {
      if (graph.inputIsRef[k]
          && state.values[graph.inputSlots[k]] instanceof Variable v
          && !v.isInitialized()) {
        throw v.uninitialized();
      }
    }
  }

  /** Releases what node n was the last to read, and counts its consumers down. */
  private void finish(int n, boolean dead) {
    Object[] values = state.values;
    int[] uses = state.uses;
    for (int k = graph.inputStart[n]; k < graph.inputStart[n + 1]; k++) {
      int slot = graph.inputSlots[k];
      if (uses[slot] != Integer.MAX_VALUE && --uses[slot] == 0) {
        release(slot);
      }
    }
    for (int slot = graph.outputStart[n]; slot < graph.outputStart[n + 1]; slot++) {
      if (uses[slot] == 0 && values[slot] != null) {
        release(slot);
      }
    }
    for (int e = graph.edgeStart[n]; e < graph.edgeStart[n + 1]; e++) {
      int target = graph.edgeTarget[e];
      if (dead && graph.edgeSlot[e] == CompiledGraph.CONTROL) {
        state.dead[target] = true;
      }
      if (--state.pending[target] == 0) {
        state.ready[readyTail++] = target;
      }
    }
  }

  private void release(int slot) {
    if (state.values[slot] instanceof Tensor t) {
      t.release();
    }
    state.values[slot] = null;
  }

  private void releaseDereferenced() {
    while (dereferencedCount > 0) {
      dereferenced[--dereferencedCount].release();
      dereferenced[dereferencedCount] = null;
    }
  }

  static MillraceException located(Throwable t, Node node) {
    MillraceException e = MillraceException.of(t);
    if (e.isDerived() || e.getMessage().contains("[[{{node ")) {
      return e;
    }
    return e.withMessage(e.getMessage() + "\n\t [[{{node " + node.name() + "}}]]");
  }

  // ---- asynchronous kernels ----

  private void startAsync(int n) {
    checkReferences(n);
    AsyncRun run = new AsyncRun(this, n);
    outstanding++;
    try {
      graph.asyncKernels[n].start(run, run);
    } catch (Throwable t) {
      run.fail(MillraceException.of(t));
      run.run();
    }
    if (run.completedInline()) {
      outstanding--;
      takeUp(run);
    } else {
      if (waiting == null) {
        waiting = new ArrayList<>();
      }
      waiting.add(run);
    }
  }

  /** Called by an asynchronous execution that has completed on another thread or later. */
  void complete(AsyncRun run) {
    synchronized (completed) {
      completed.add(run);
      anyCompleted = true;
    }
    LockSupport.unpark(thread);
  }

  private void takeCompleted() {
    while (true) {
      AsyncRun run;
      synchronized (completed) {
        run = completed.poll();
        if (run == null) {
          anyCompleted = false;
          return;
        }
      }
      outstanding--;
      waiting.remove(run);
      takeUp(run);
    }
  }

  private void takeUp(AsyncRun run) {
    int n = run.index();
    if (run.failure() != null) {
      step.fail(located(run.failure(), graph.nodes[n]));
    }
    Object[] outputs = run.outputs();
    for (int i = 0; i < outputs.length; i++) {
      state.values[graph.outputStart[n] + i] = outputs[i];
    }
    run.releaseInputs();
    finish(n, false);
  }

  /** Waits for an asynchronous kernel, and says every ten seconds for which. */
  private long awaitCompletion(long idleSince) {
    for (int i = 0; i < SPINS; i++) {
      if (anyCompleted) {
        return 0;
      }
      Thread.onSpinWait();
    }
    long now = System.nanoTime();
    long since = idleSince == 0 ? now : idleSince;
    LockSupport.parkNanos(this, REPORT_NANOS);
    if (!anyCompleted && System.nanoTime() - since > REPORT_NANOS) {
      LOG.info(
          "Step {} has waited {} s for {}.",
          step.id(),
          (System.nanoTime() - since) / 1_000_000_000L,
          waiting.stream().map(r -> "'" + r.node().name() + "'").limit(5).toList());
    }
    return since;
  }

  // ---- the running kernel's view ----

  @Override
  public Node node() {
    return graph.nodes[current];
  }

  @Override
  public int inputCount() {
    return graph.inputStart[current + 1] - graph.inputStart[current];
  }

  Object value(int n, int i) {
    return state.values[graph.inputSlots[graph.inputStart[n] + i]];
  }

  @Override
  public Tensor input(int i) {
    Object v = value(current, i);
    if (v instanceof Tensor t) {
      return t;
    }
    if (v == null) {
      throw new IllegalStateException("input " + i + " of " + node() + " is dead");
    }
    Tensor t = ((Variable) v).read();
    if (dereferencedCount == dereferenced.length) {
      dereferenced = java.util.Arrays.copyOf(dereferenced, dereferencedCount * 2);
    }
    dereferenced[dereferencedCount++] = t;
    return t;
  }

  @Override
  public Variable ref(int i) {
    return asVariable(value(current, i), node(), i);
  }

  static Variable asVariable(Object v, Node node, int i) {
    if (v instanceof Variable variable) {
      return variable;
    }
    throw MillraceException.invalid(
        "%s '%s': input %d must be a reference to a variable, but a value arrived."
            + " Was the edge cut by a device boundary or a feed?",
        node.op().name(), node.name(), i);
  }

  @Override
  public boolean isDead(int i) {
    return value(current, i) == null;
  }

  @Override
  public void output(int i, Tensor value) {
    put(i, value);
  }

  @Override
  public void outputRef(int i, Variable variable) {
    put(i, variable);
  }

  private void put(int i, Object value) {
    int slot = graph.outputStart[current] + i;
    if (state.values[slot] instanceof Tensor old) {
      old.release();
    }
    state.values[slot] = value;
  }

  @Override
  public void forward(int i, int j) {
    Object v = value(current, j);
    put(i, v instanceof Tensor t ? t.retain() : v);
  }

  @Override
  public void fail(MillraceException cause) {
    step.fail(located(cause, node()));
  }

  @Override
  public Tensor reusable(int i) {
    int slot = graph.inputSlots[graph.inputStart[current] + i];
    return state.uses[slot] == 1
            && state.values[slot] instanceof Tensor t
            && t.buffer() != null
            && t.buffer().isUnshared()
        ? t
        : null;
  }

  @Override
  public Resources resources() {
    return resources;
  }

  @Override
  public Rendezvous rendezvous() {
    return step.rendezvous();
  }

  @Override
  public Cancellation cancellation() {
    return step.cancellation();
  }

  @Override
  public Tensor argument(int index) {
    return step.argument(index);
  }

  @Override
  public void result(int index, Tensor value) {
    step.result(index, value);
  }

  @Override
  public long stepId() {
    return step.id();
  }

  CompiledGraph graph() {
    return graph;
  }

  Thread thread() {
    return thread;
  }
}
