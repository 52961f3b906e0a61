package dev.millrace.runtime.exec;

import dev.millrace.graph.Op;
import dev.millrace.graph.resource.Resources;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;

/**
 * One execution of a {@link CompiledGraph} without loops. A node runs when the last of its inputs
 * has arrived; its kernel's outputs are put into their slots and the consumers counted down. A
 * tensor goes back to the pool when its last reader is done.
 *
 * <p>A null in a slot that has been produced means the value is dead. A node with a dead input does
 * not run and all its outputs are dead; the roles in {@link Op.Role} say who is exempt.
 */
public final class StepRun extends GraphRun {
  private final CompiledGraph.StepState state;
  private int readyHead;
  private int readyTail;

  private StepRun(CompiledGraph graph, Step step, Resources resources) {
    super(graph, step, resources);
    this.state = graph.takeState();
  }

  /** Runs all of {@code graph}. A failure is left in the step; this returns when all is quiet. */
  public static void run(CompiledGraph graph, Step step, Resources resources) {
    if (graph.loops != null) {
      new LoopRun(graph, step, resources).runAll();
      return;
    }
    StepRun r = new StepRun(graph, step, resources);
    r.runAll();
    if (step.hasFailed()) {
      r.state.releaseValues(graph);
    }
    r.cleanUp();
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
    if (isDead(n, graph.roles[n])) {
      finish(n, true);
    } else if (compute(n)) {
      finish(n, false);
    }
  }

  private boolean isDead(int n, Op.Role role) {
    return switch (role) {
      case SEND, RECV, CONTROL_TRIGGER, RETVAL -> false;
      case MERGE -> hasOnlyDeadInputs(n);
      default -> state.dead[n] || hasDeadInput(n);
    };
  }

  private boolean hasOnlyDeadInputs(int n) {
    for (int k = graph.inputStart[n]; k < graph.inputStart[n + 1]; k++) {
      if (state.values[graph.inputSlots[k]] != null) {
        return false;
      }
    }
    return true;
  }

  private boolean hasDeadInput(int n) {
    for (int k = graph.inputStart[n]; k < graph.inputStart[n + 1]; k++) {
      if (state.values[graph.inputSlots[k]] == null) {
        return true;
      }
    }
    return false;
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
      Refs.release(t);
    }
    state.values[slot] = null;
  }

  @Override
  void takeUp(AsyncRun run) {
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

  @Override
  Object value(int i) {
    return state.values[graph.inputSlots[graph.inputStart[current] + i]];
  }

  @Override
  void put(int i, Object value) {
    int slot = graph.outputStart[current] + i;
    if (state.values[slot] instanceof Tensor old) {
      Refs.release(old);
    }
    state.values[slot] = value;
  }

  @Override
  public Tensor reusable(int i) {
    int slot = graph.inputSlots[graph.inputStart[current] + i];
    return state.uses[slot] == 1 && state.values[slot] instanceof Tensor t && Refs.isUnshared(t)
        ? t
        : null;
  }
}
