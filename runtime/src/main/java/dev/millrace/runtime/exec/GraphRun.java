package dev.millrace.runtime.exec;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.steps.Phase;
import dev.millrace.base.steps.StepClock;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Procedure;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.Variable;
import dev.millrace.runtime.trace.StepTrace;
import dev.millrace.tensor.DeviceMemory;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One execution of a {@link CompiledGraph}, on the thread that made it: what {@link StepRun} and
 * {@link LoopRun} have in common. That is the running kernel's view of the step, and the kernels
 * that complete later: they are started and left; when one completes, on whatever thread, this
 * run's thread is woken and goes on. The run ends when nothing is ready and nothing is outstanding,
 * so it never leaves a kernel behind, failed or not.
 */
abstract class GraphRun implements KernelContext {
  private static final Logger LOG = LoggerFactory.getLogger(GraphRun.class);
  private static final long REPORT_NANOS = 10_000_000_000L;
  private static final long LONGEST_REPORT_NANOS = 300_000_000_000L;
  private static final int SPINS = 200;

  /**
   * How long a run that waits only offers its processor before it sleeps. What comes over a link is
   * often this near, and to be woken takes as long.
   */
  private static final long YIELD_NANOS = 50_000;

  final CompiledGraph graph;
  final Step step;
  private final Timers timers;
  private final Resources resources;
  private final Thread thread = Thread.currentThread();

  /** Measures the step that this thread makes; null if none is measured. */
  private final StepClock clock = StepClock.current();

  /** The node whose kernel is running. */
  int current;

  /** How long the present wait must last before it is spoken of. */
  private long reportAfterNanos;

  /** Values of references read for the current kernel, released when it is done; null at first. */
  private Tensor[] dereferenced;

  private int dereferencedCount;

  /** Asynchronous executions started and not taken up. */
  int outstanding;

  /** Asynchronous executions that have completed and wait to be taken up; null at first. */
  private ArrayDeque<AsyncRun> completed;

  volatile boolean anyCompleted;

  /** Started and not completed, for the message about a step that does not end. */
  private List<AsyncRun> waiting;

  /** Whether the failed step knows what this run was waiting for. */
  private boolean awaitedNoted;

  /** What is to be done at the end; null while nothing is. Guarded by this. */
  private List<Runnable> cleanups;

  GraphRun(CompiledGraph graph, Step step, Resources resources) {
    this.graph = graph;
    this.step = step;
    this.timers = step.timers();
    this.resources = resources;
    if (step.trace() != null) {
      traceConstants();
    }
  }

  /** Records constants too: they need no run, but readers of a trace expect every node. */
  private void traceConstants() {
    long now = timers.now();
    for (int i = 0; i < graph.nodes.length; i++) {
      if (graph.isConstant(i)) {
        step.trace().add(graph.nodes[i], now, now);
      }
    }
  }

  /** Input {@code i} of the current node: a tensor, a variable, or null if it is dead. */
  abstract Object value(int i);

  /** Takes the outputs of an asynchronous execution, and goes on from there. */
  abstract void takeUp(AsyncRun run);

  /** Runs the kernel of node {@code n}; false if it was started and will complete later. */
  final boolean compute(int n) {
    current = n;
    StepTrace trace = step.trace();
    long start = trace == null ? 0 : timers.now();
    try {
      checkReferences(n);
      if (graph.changes[n]) {
        step.cancellation().checkLease();
      }
      if (graph.asyncKernels[n] != null) {
        return startAsync(n);
      }
      graph.kernels[n].compute(this);
    } catch (Throwable t) {
      step.fail(located(t, graph.nodes[n]));
    } finally {
      releaseDereferenced();
      if (trace != null) {
        trace.add(graph.nodes[n], start, timers.now());
      }
    }
    return true;
  }

  /** An op that does not say otherwise may not be given a variable that has no value. */
  private void checkReferences(int n) {
    if (!graph.wantsValues[n]) {
      return;
    }
    for (int i = 0; i < inputCount(); i++) {
      if (graph.inputIsRef[graph.inputStart[n] + i]
          && value(i) instanceof Variable v
          && !v.isInitialized()) {
        throw v.uninitialized();
      }
    }
  }

  private void releaseDereferenced() {
    while (dereferencedCount > 0) {
      Refs.release(dereferenced[--dereferencedCount]);
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

  /** What identifies this execution of the current node to the run; null where its index does. */
  Object place() {
    return null;
  }

  private boolean startAsync(int n) {
    AsyncRun run = new AsyncRun(this, n, place());
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
    return false;
  }

  /** Called by an asynchronous execution that has completed on another thread or later. */
  void complete(AsyncRun run) {
    synchronized (this) {
      if (completed == null) {
        completed = new ArrayDeque<>(4);
      }
      completed.add(run);
      anyCompleted = true;
    }
    LockSupport.unpark(thread);
  }

  final void takeCompleted() {
    if (!awaitedNoted && step.hasFailed()) {
      awaitedNoted = true;
      step.addAwaited(waiting);
    }
    while (true) {
      AsyncRun run;
      synchronized (this) {
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

  /**
   * Waits for an asynchronous kernel, and says for which: after ten seconds, and again whenever the
   * wait has doubled or gone on for five minutes.
   */
  final long awaitCompletion(long idleSince) {
    if (clock == null) {
      step.rendezvous().flush();
      return await(idleSince);
    }
    Phase before = clock.enter(Phase.PUSH);
    step.rendezvous().flush();
    // What was begun first is most likely what the rest depends on.
    int awaited = waiting.getFirst().index();
    clock.enter(graph.waitsIn[awaited], graph.waitsFor[awaited]);
    try {
      return await(idleSince);
    } finally {
      clock.enter(before);
    }
  }

  private long await(long idleSince) {
    for (int i = 0; i < SPINS; i++) {
      if (anyCompleted) {
        return 0;
      }
      Thread.onSpinWait();
    }
    long start = timers.now();
    long now = start;
    long yieldNanos = timers.spinLimit(YIELD_NANOS);
    for (; now - start < yieldNanos; now = timers.now()) {
      if (anyCompleted) {
        return 0;
      }
      Thread.yield();
    }
    if (idleSince == 0) {
      reportAfterNanos = REPORT_NANOS;
    }
    long since = idleSince == 0 ? now : idleSince;
    timers.park(this, REPORT_NANOS);
    if (thread.isInterrupted() && !step.hasFailed()) {
      step.fail(StepFailures.interrupted(null));
    }
    long waited = timers.now() - since;
    if (!anyCompleted && waited >= reportAfterNanos) {
      reportAfterNanos = waited + Math.min(waited, LONGEST_REPORT_NANOS);
      LOG.info(
          "Step {} has waited {} s for {}.",
          step.id(),
          waited / 1_000_000_000L,
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

  @Override
  public Tensor input(int i) {
    Object v = value(i);
    if (v instanceof Tensor t) {
      return t;
    }
    if (v == null) {
      throw new IllegalStateException("input " + i + " of " + node() + " is dead");
    }
    Tensor t = ((Variable) v).read();
    if (dereferenced == null) {
      dereferenced = new Tensor[4];
    } else if (dereferencedCount == dereferenced.length) {
      dereferenced = Arrays.copyOf(dereferenced, dereferencedCount * 2);
    }
    dereferenced[dereferencedCount++] = t;
    return t;
  }

  @Override
  public Variable ref(int i) {
    return asVariable(value(i), node(), i);
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
    return value(i) == null;
  }

  /** What leaves this task, or goes around a ring, is made where it leaves from. */
  @Override
  public Tensor allocate(int i, Shape shape) {
    CompiledGraph.Room room = graph.rooms[graph.outputStart[current] + i];
    Tensor t = room == null ? null : room.make(this, node().output(i).dtype(), shape);
    if (t == null) {
      return KernelContext.super.allocate(i, shape);
    }
    output(i, t);
    return t;
  }

  @Override
  public void output(int i, Tensor value) {
    put(i, Refs.counted(value));
  }

  @Override
  public void outputRef(int i, Variable variable) {
    put(i, variable);
  }

  /** Sets output {@code i} of the current node, in place of what it may have been set to before. */
  abstract void put(int i, Object value);

  @Override
  public void forward(int i, int j) {
    Object v = value(j);
    put(i, v instanceof Tensor t ? Refs.retain(t) : v);
  }

  @Override
  public void fail(MillraceException cause) {
    step.fail(located(cause, node()));
  }

  @Override
  public DeviceMemory memory() {
    return graph.memory;
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
  public Procedure procedure(AttrValue.Func function) {
    return graph.procedure(function, resources);
  }

  @Override
  public long stepId() {
    return step.id();
  }

  @Override
  public synchronized void afterRun(Runnable cleanup) {
    if (cleanups == null) {
      cleanups = new ArrayList<>();
    }
    cleanups.add(cleanup);
  }

  final void cleanUp() {
    List<Runnable> due;
    synchronized (this) {
      due = cleanups;
    }
    if (due != null) {
      due.forEach(Runnable::run);
    }
  }
}
