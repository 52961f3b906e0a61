package dev.millrace.runtime.exec;

import dev.millrace.graph.Op;
import dev.millrace.graph.resource.Resources;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One execution of a {@link CompiledGraph} with loops, by TensorFlow's rules. A loop that runs is a
 * {@link Frame}; each of its rounds is an {@link Iteration} with pending counts and slots of its
 * own, so that rounds overlap where their data allows, up to the loop's {@code
 * parallel_iterations}.
 *
 * <p>A merge runs on its first live input and does not wait for others; it is dead when all its
 * inputs are, or when a dead Enter says that the whole loop is on a branch not taken. Dead values
 * stop at NextIteration, which ends a loop, and at Exit: an exit that has let no value out is dead
 * once its loop has ended.
 */
final class LoopRun extends GraphRun {
  /** A loop that runs, in one iteration of the loop around it. */
  private static final class Frame {
    final LoopFrames.Frame shape;

    /** Its number among the graph's loops. */
    final int number;

    final Iteration within;

    /** What other tasks know it by. */
    final long id;

    /** Those not yet done, oldest first; their numbers are consecutive. */
    final ArrayDeque<Iteration> iterations = new ArrayDeque<>();

    /** Number of the next iteration. */
    int next;

    int missingEnters;

    /** Values that enter every iteration, by Enter node; null if dead. */
    final Map<Integer, Object[]> constants = new HashMap<>();

    /** What goes to the next iteration as soon as there may be one more. */
    final List<Produced> waiting = new ArrayList<>();

    final List<Integer> exited = new ArrayList<>();

    Frame(LoopFrames.Frame shape, int number, Iteration within) {
      this.shape = shape;
      this.number = number;
      this.within = within;
      this.id =
          within == null
              ? FrameId.OUTERMOST
              : FrameId.of(within.frame.id, within.number, shape.name);
      this.missingEnters = shape.enters;
    }
  }

  /** The outputs of a node; all null if it was dead. */
  private record Produced(int node, Object[] outputs, boolean dead) {}

  /** One round of a loop. Arrays go by the numbers of nodes and slots within the frame. */
  private static final class Iteration {
    final Frame frame;
    final int number;
    final int[] pending;
    final int[] uses;
    final Object[] values;

    /** Nodes with a dead input; merges that are dead. */
    final boolean[] dead;

    /** Merges that have a live input, or have run. */
    final boolean[] merged;

    /** Dead inputs of merges. */
    final int[] deadInputs;

    /** Nodes ready or running, and loops within that have not ended. */
    int busy;

    final Map<Integer, Frame> loops = new HashMap<>(2);

    Iteration(Frame frame, int number) {
      this.frame = frame;
      this.number = number;
      LoopFrames.Frame f = frame.shape;
      pending = f.pending.clone();
      uses = f.uses.clone();
      values = new Object[f.slots];
      dead = new boolean[f.nodes];
      merged = new boolean[f.nodes];
      deadInputs = new int[f.nodes];
    }
  }

  private record Task(int node, Iteration iteration) {}

  private final LoopFrames loops;
  private final Iteration root;
  private final ArrayDeque<Task> ready = new ArrayDeque<>();

  /** Where the current kernel runs, and what it has produced. */
  private Iteration iteration;

  private Object[] produced;

  LoopRun(CompiledGraph graph, Step step, Resources resources) {
    super(graph, step, resources);
    this.loops = graph.loops;
    Frame outermost = new Frame(loops.frames.getFirst(), 0, null);
    root = newIteration(outermost);
    root.busy++; // It is done when the run is.
  }

  void runAll() {
    for (int n : graph.roots) {
      enqueue(n, root);
    }
    long idleSince = 0;
    while (true) {
      while (!ready.isEmpty() && !step.hasFailed()) {
        Task t = ready.poll();
        execute(t.node, t.iteration);
        if (anyCompleted) {
          takeCompleted();
        }
      }
      if (anyCompleted) {
        takeCompleted();
        idleSince = 0;
      } else if (outstanding == 0) {
        break;
      } else {
        idleSince = awaitCompletion(idleSince);
      }
    }
    release(root);
    cleanUp();
  }

  private void enqueue(int n, Iteration it) {
    it.busy++;
    ready.add(new Task(n, it));
  }

  private void execute(int n, Iteration it) {
    iteration = it;
    boolean dead =
        switch (graph.roles[n]) {
          case SEND, RECV, CONTROL_TRIGGER, RETVAL -> false;
          default -> it.dead[loops.nodeNumber[n]];
        };
    produced = new Object[graph.outputStart[n + 1] - graph.outputStart[n]];
    if (dead || compute(n)) {
      finish(new Produced(n, produced, dead), it);
    }
  }

  /** Releases what the node was the last to read and sends on what it has produced. */
  private void finish(Produced p, Iteration it) {
    int n = p.node;
    for (int k = graph.inputStart[n]; k < graph.inputStart[n + 1]; k++) {
      int slot = loops.slotNumber[graph.inputSlots[k]];
      if (slot >= 0 && --it.uses[slot] == 0) {
        release(it.values[slot]);
        it.values[slot] = null;
      }
    }
    if (!step.hasFailed()) {
      switch (graph.roles[n]) {
        case ENTER -> goIn(p, it);
        case EXIT -> goOut(p, it);
        case NEXT_ITERATION -> goOn(p, it);
        default -> deliver(p, it);
      }
    } else {
      release(p);
    }
    it.busy--;
    end(it);
  }

  private void goIn(Produced p, Iteration it) {
    int number = loops.outputFrame[p.node];
    Frame f = it.loops.get(number);
    if (f == null) {
      f = new Frame(loops.frames.get(number), number, it);
      it.loops.put(number, f);
      it.busy++;
      newIteration(f);
    }
    if (loops.isConstantEnter[p.node]) {
      f.constants.put(p.node, p.outputs);
      for (Iteration i : List.copyOf(f.iterations)) {
        deliver(again(p), i);
      }
    } else {
      deliver(p, f.iterations.getFirst());
    }
    f.missingEnters--;
    end(f.iterations.getFirst());
  }

  private void goOut(Produced p, Iteration it) {
    if (!p.dead) {
      it.frame.exited.add(p.node);
      deliver(p, it.frame.within);
    }
  }

  private void goOn(Produced p, Iteration it) {
    if (p.dead) {
      return;
    }
    Frame f = it.frame;
    Iteration last = f.iterations.getLast();
    if (last.number > it.number) {
      deliver(p, after(f, it));
    } else if (f.iterations.size() < f.shape.parallelIterations) {
      deliver(p, newIteration(f));
    } else {
      f.waiting.add(p);
    }
  }

  private static Iteration after(Frame f, Iteration it) {
    for (Iteration i : f.iterations) {
      if (i.number == it.number + 1) {
        return i;
      }
    }
    throw new IllegalStateException("iteration " + (it.number + 1) + " has ended too early");
  }

  private Iteration newIteration(Frame f) {
    Iteration it = new Iteration(f, f.next++);
    f.iterations.add(it);
    f.constants.forEach(
        (n, outputs) -> deliver(again(new Produced(n, outputs, outputs[0] == null)), it));
    return it;
  }

  /** The same once more, with references of its own. */
  private static Produced again(Produced p) {
    for (Object o : p.outputs) {
      if (o instanceof Tensor t) {
        Refs.retain(t);
      }
    }
    return p;
  }

  /** Puts outputs into their slots of {@code to} and counts the consumers there down. */
  private void deliver(Produced p, Iteration to) {
    int n = p.node;
    for (int i = 0; i < p.outputs.length; i++) {
      int slot = loops.slotNumber[graph.outputStart[n] + i];
      if (to.uses[slot] > 0) {
        to.values[slot] = p.outputs[i];
      } else {
        release(p.outputs[i]);
      }
    }
    for (int e = graph.edgeStart[n]; e < graph.edgeStart[n + 1]; e++) {
      int target = graph.edgeTarget[e];
      int slot = graph.edgeSlot[e];
      boolean control = slot == CompiledGraph.CONTROL;
      boolean dead = p.dead || (!control && p.outputs[slot - graph.outputStart[n]] == null);
      boolean runs =
          graph.roles[target] == Op.Role.MERGE
              ? countMerge(target, to, control, dead, graph.roles[n] == Op.Role.ENTER)
              : count(target, to, dead);
      if (runs) {
        enqueue(target, to);
      }
    }
  }

  private boolean count(int target, Iteration to, boolean dead) {
    int t = loops.nodeNumber[target];
    to.dead[t] |= dead;
    return --to.pending[t] == 0;
  }

  private boolean countMerge(
      int target, Iteration to, boolean control, boolean dead, boolean fromEnter) {
    int t = loops.nodeNumber[target];
    boolean decided = to.merged[t] || to.dead[t];
    if (control) {
      return --to.pending[t] == 0 && decided;
    }
    if (decided) {
      return false;
    }
    if (!dead) {
      to.merged[t] = true;
    } else {
      int inputs = graph.inputStart[target + 1] - graph.inputStart[target];
      to.dead[t] = ++to.deadInputs[t] == inputs || fromEnter;
    }
    return to.pending[t] == 0 && (to.merged[t] || to.dead[t]);
  }

  /** Ends an iteration if it is the oldest and nothing is left to do in it; then those after. */
  private void end(Iteration it) {
    Frame f = it.frame;
    while (it != null && it == f.iterations.peek() && it.busy == 0 && f.missingEnters == 0) {
      f.iterations.poll();
      release(it);
      if (!f.waiting.isEmpty()) {
        List<Produced> values = List.copyOf(f.waiting);
        f.waiting.clear();
        Iteration next = newIteration(f);
        values.forEach(p -> deliver(p, next));
      }
      it = f.iterations.peek();
      if (it == null) {
        end(f);
      }
    }
  }

  private void end(Frame f) {
    f.constants.values().forEach(o -> Arrays.stream(o).forEach(LoopRun::release));
    f.constants.clear();
    if (f.within == null) {
      return;
    }
    for (int n : f.shape.exits) {
      if (!f.exited.contains(n)) {
        Object[] none = new Object[graph.outputStart[n + 1] - graph.outputStart[n]];
        deliver(new Produced(n, none, true), f.within);
      }
    }
    f.within.loops.remove(f.number);
    f.within.busy--;
    end(f.within);
  }

  private static void release(Object value) {
    if (value instanceof Tensor t) {
      Refs.release(t);
    }
  }

  private static void release(Produced p) {
    Arrays.stream(p.outputs).forEach(LoopRun::release);
  }

  /** Gives back all that an iteration holds, which is something only if the step has failed. */
  private static void release(Iteration it) {
    for (int i = 0; i < it.values.length; i++) {
      release(it.values[i]);
      it.values[i] = null;
    }
    for (Frame f : it.loops.values()) {
      f.iterations.forEach(LoopRun::release);
      f.waiting.forEach(LoopRun::release);
      f.constants.values().forEach(o -> Arrays.stream(o).forEach(LoopRun::release));
    }
    it.loops.clear();
  }

  @Override
  void takeUp(AsyncRun run) {
    if (run.failure() != null) {
      step.fail(located(run.failure(), graph.nodes[run.index()]));
    }
    run.releaseInputs();
    finish(new Produced(run.index(), run.outputs(), false), (Iteration) run.place());
  }

  @Override
  Object place() {
    return iteration;
  }

  @Override
  Object value(int i) {
    int slot = graph.inputSlots[graph.inputStart[current] + i];
    int number = loops.slotNumber[slot];
    return number < 0 ? graph.initialValues[slot] : iteration.values[number];
  }

  @Override
  void put(int i, Object value) {
    release(produced[i]);
    produced[i] = value;
  }

  @Override
  public Tensor reusable(int i) {
    int number = loops.slotNumber[graph.inputSlots[graph.inputStart[current] + i]];
    return number >= 0
            && iteration.uses[number] == 1
            && iteration.values[number] instanceof Tensor t
            && Refs.isUnshared(t)
        ? t
        : null;
  }

  @Override
  public String frameAndIteration() {
    return Long.toUnsignedString(iteration.frame.id) + ":" + iteration.number;
  }
}
