package dev.millrace.runtime.exec;

import dev.millrace.base.MillraceException;
import dev.millrace.base.steps.Phase;
import dev.millrace.graph.AsyncKernel;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Procedure;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.graph.resource.Resources;
import dev.millrace.runtime.device.DeviceKind;
import dev.millrace.runtime.plan.Fuser;
import dev.millrace.runtime.plan.GraphPartitioner;
import dev.millrace.runtime.plan.LoopNest;
import dev.millrace.runtime.plan.Simplifier;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.DeviceMemory;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * One device's part of a graph in the form the executor walks: nodes, edges and value slots as
 * arrays of ints, kernels made. A slot is one output of one node. Constants without control inputs
 * are not run at all; their slots start filled.
 *
 * <p>Threading: immutable, but for the free list of states and the functions in use; any number of
 * steps run at once.
 */
public final class CompiledGraph implements AutoCloseable {
  static final int CONTROL = -1;

  final Node[] nodes;
  final Kernel[] kernels;
  final AsyncKernel[] asyncKernels;

  /** What a step does while it waits for an asynchronous kernel; null for others. */
  final Phase[] waitsIn;

  /** The other task that it waits for then; null for none. */
  final String[] waitsFor;

  final Op.Role[] roles;

  /** Whether reference inputs of the node must refer to variables that have a value. */
  final boolean[] wantsValues;

  /** Whether the node may change state that outlives the step. */
  final boolean[] changes;

  /** Slots of node n's data inputs are inputSlots[inputStart[n] .. inputStart[n+1]). */
  final int[] inputStart;

  final int[] inputSlots;

  /** Whether data input at that position is declared as a reference. */
  final boolean[] inputIsRef;

  /** Slots of node n's outputs are outputStart[n] .. outputStart[n+1]. */
  final int[] outputStart;

  /** Edges out of node n are edgeStart[n] .. edgeStart[n+1]: from a slot (or CONTROL) to a node. */
  final int[] edgeStart;

  final int[] edgeSlot;
  final int[] edgeTarget;

  /** Inputs each node waits for, constants not counted. */
  final int[] initialPending;

  /** How many times each slot is read; slots of constants count as read forever. */
  final int[] initialUses;

  /** Constants in their slots, null elsewhere. */
  final Object[] initialValues;

  /** Where the value of a slot is best made if one node alone reads it; null for all others. */
  final Room[] rooms;

  /** The nodes that wait for nothing. */
  final int[] roots;

  /** How many nodes run in a step. */
  final int runnable;

  /** How the nodes lie in loops; null where there are none. */
  final LoopFrames loops;

  /** The memory of the device that the nodes run on. */
  final DeviceMemory memory;

  private final ArrayDeque<StepState> idle = new ArrayDeque<>();
  private final Map<AttrValue.Func, Procedure> procedures = new ConcurrentHashMap<>();

  /** Compiles a graph for the host. */
  public CompiledGraph(Graph graph) {
    this(graph, DeviceKind.HOST, DeviceMemory.HOST);
  }

  /**
   * Fuses what can be fused and makes a kernel for every node.
   *
   * @param kind has the kernels
   * @param memory where they work
   */
  public CompiledGraph(Graph graph, DeviceKind kind, DeviceMemory memory) {
    this.memory = memory;
    // Fusions have kernels for the host.
    List<Node> list = (kind == DeviceKind.HOST ? Fuser.fuse(graph) : graph).nodes();
    int n = list.size();
    nodes = list.toArray(new Node[0]);
    kernels = new Kernel[n];
    asyncKernels = new AsyncKernel[n];
    waitsIn = new Phase[n];
    waitsFor = new String[n];
    roles = new Op.Role[n];
    wantsValues = new boolean[n];
    changes = new boolean[n];
    inputStart = new int[n + 1];
    outputStart = new int[n + 1];
    edgeStart = new int[n + 1];
    initialPending = new int[n];
    for (int i = 0; i < n; i++) {
      inputStart[i + 1] = inputStart[i] + nodes[i].inputCount();
      outputStart[i + 1] = outputStart[i] + nodes[i].outputCount();
      roles[i] = nodes[i].op().role();
    }
    int slots = outputStart[n];
    inputSlots = new int[inputStart[n]];
    inputIsRef = new boolean[inputStart[n]];
    initialUses = new int[slots];
    initialValues = new Object[slots];
    boolean[] constant = new boolean[n];
    int run = 0;
    for (int i = 0; i < n; i++) {
      Node node = nodes[i];
      constant[i] = Simplifier.isConstant(node);
      if (constant[i]) {
        initialValues[outputStart[i]] = onDevice(node.tensorAttr("value"));
        continue;
      }
      run++;
      try {
        if (node.op().isAsync()) {
          asyncKernels[i] = kind.asyncKernelFor(node);
          waitsIn[i] = waitsIn(node);
          waitsFor[i] = waitsFor(node);
        } else {
          kernels[i] = kind.kernelFor(node);
        }
      } catch (MillraceException e) {
        throw e.withMessage(e.getMessage() + "\n\t [[{{node " + node.name() + "}}]]");
      }
    }
    runnable = run;
    List<List<int[]>> edges = new ArrayList<>(n);
    for (int i = 0; i < n; i++) {
      edges.add(new ArrayList<>(2));
    }
    for (int i = 0; i < n; i++) {
      List<Op.TypedArg> types = nodes[i].op().inputTypes(nodes[i].attrs());
      changes[i] = nodes[i].op().isStateful();
      for (int k = 0; k < nodes[i].inputCount(); k++) {
        Output in = nodes[i].input(k);
        int source = in.node().id();
        int slot = outputStart[source] + in.index();
        inputSlots[inputStart[i] + k] = slot;
        inputIsRef[inputStart[i] + k] = types.get(k).isRef();
        changes[i] |= types.get(k).isRef();
        wantsValues[i] |= types.get(k).isRef() && !nodes[i].op().allowsUninitialized();
        if (constant[source]) {
          continue;
        }
        initialUses[slot]++;
        initialPending[i]++;
        edges.get(source).add(new int[] {slot, i});
      }
      for (Node c : nodes[i].controlInputs()) {
        if (!constant[c.id()]) {
          initialPending[i]++;
          edges.get(c.id()).add(new int[] {CONTROL, i});
        }
      }
      if (constant[i]) {
        initialUses[outputStart[i]] = Integer.MAX_VALUE;
      }
    }
    for (int i = 0; i < n; i++) {
      edgeStart[i + 1] = edgeStart[i] + edges.get(i).size();
    }
    edgeSlot = new int[edgeStart[n]];
    edgeTarget = new int[edgeStart[n]];
    for (int i = 0; i < n; i++) {
      int at = edgeStart[i];
      for (int[] e : edges.get(i)) {
        edgeSlot[at] = e[0];
        edgeTarget[at++] = e[1];
      }
    }
    int[] ready = new int[n];
    int count = 0;
    // Receives first: what they wait for may take a while to come.
    for (int pass = 0; pass < 2; pass++) {
      for (int i = 0; i < n; i++) {
        if (!constant[i] && initialPending[i] == 0 && (asyncKernels[i] != null) == (pass == 0)) {
          ready[count++] = i;
        }
      }
    }
    roots = Arrays.copyOf(ready, count);
    rooms = rooms();
    loops = LoopNest.isAnyLoop(list) ? new LoopFrames(this, constant) : null;
  }

  /** A value of another device of this task is part of computing. */
  private static Phase waitsIn(Node node) {
    if (node.op().role() != Op.Role.RECV) {
      return node.op().waitsIn();
    }
    return waitsFor(node) == null
        ? Phase.COMPUTE
        : node.attrs().containsKey(GraphPartitioner.AWAITS_OTHERS) ? Phase.WAIT : Phase.PULL;
  }

  private static String waitsFor(Node node) {
    if (node.op().role() != Op.Role.RECV) {
      return null;
    }
    String from = taskOf(node.stringAttr("send_device"));
    return from.equals(taskOf(node.stringAttr("recv_device"))) ? null : from;
  }

  private static String taskOf(String device) {
    return DeviceSpec.parse(device).taskName();
  }

  /** A constant where the kernels read it; the garbage collector frees a copy on a device. */
  private Tensor onDevice(Tensor constant) {
    if (memory == DeviceMemory.HOST) {
      return constant;
    }
    Tensor copy = memory.fromHost(Refs.retain(constant));
    Tensor kept = Refs.constant(copy);
    Refs.release(copy);
    return kept;
  }

  /** Whether node {@code n} is a constant, whose value is in its slot from the start. */
  boolean isConstant(int n) {
    return kernels[n] == null && asyncKernels[n] == null;
  }

  /** Makes memory for a value where its only reader wants it, or null where any will do. */
  @FunctionalInterface
  interface Room {
    Tensor make(GraphRun run, DType dtype, Shape shape);
  }

  /** The room a node has for its first input; null if it surely has none. */
  private Room roomAt(int node) {
    if (memory != DeviceMemory.HOST) {
      return null;
    }
    if (roles[node] == Op.Role.SEND) {
      Rendezvous.Key key = Rendezvous.Key.of(nodes[node]);
      return (run, dtype, shape) -> run.rendezvous().room(key, dtype, shape);
    }
    AsyncKernel kernel = asyncKernels[node];
    boolean reads = kernel != null && inputStart[node] < inputStart[node + 1];
    return reads ? (_, dtype, shape) -> kernel.room(dtype, shape) : null;
  }

  /** A value goes to its reader directly, or by an Identity of which the same is true. */
  private Room[] rooms() {
    Room[] rooms = new Room[outputStart[nodes.length]];
    for (int i = 0; i < nodes.length; i++) {
      Room room = roomAt(i);
      int reader = i;
      while (room != null && initialUses[inputSlots[inputStart[reader]]] == 1) {
        rooms[inputSlots[inputStart[reader]]] = room;
        reader = nodes[reader].input(0).node().id();
        if (!nodes[reader].op().name().equals("Identity")) {
          break;
        }
      }
    }
    return rooms;
  }

  /** A function that a node here names, for the device with this state; created on demand. */
  Procedure procedure(AttrValue.Func function, Resources resources) {
    return procedures.computeIfAbsent(function, f -> CompiledFunction.of(f, resources));
  }

  /** How many nodes a step runs at most. */
  public int size() {
    return runnable;
  }

  StepState takeState() {
    StepState s;
    synchronized (idle) {
      s = idle.poll();
    }
    return s == null ? new StepState(this) : s;
  }

  void giveBack(StepState s) {
    synchronized (idle) {
      if (idle.size() < 16) {
        idle.push(s);
      }
    }
  }

  /** Releases nothing that steps in flight still need; constants belong to the graph. */
  @Override
  public void close() {
    synchronized (idle) {
      idle.clear();
    }
  }

  /** A step's mutable arrays, reused from step to step. */
  static final class StepState {
    final int[] pending;
    final int[] uses;

    /** A Tensor with a counted reference, a Variable, or null while not produced, or dead. */
    final Object[] values;

    /** Nodes with a dead input. */
    final boolean[] dead;

    /** Nodes ready to run, a ring of at most all nodes. */
    final int[] ready;

    StepState(CompiledGraph g) {
      pending = new int[g.nodes.length];
      uses = new int[g.initialUses.length];
      values = new Object[g.initialValues.length];
      dead = new boolean[g.nodes.length];
      ready = new int[g.nodes.length];
      reset(g);
    }

    void reset(CompiledGraph g) {
      System.arraycopy(g.initialPending, 0, pending, 0, pending.length);
      System.arraycopy(g.initialUses, 0, uses, 0, uses.length);
      System.arraycopy(g.initialValues, 0, values, 0, values.length);
      Arrays.fill(dead, false);
    }

    /** Gives back whatever a step that ended early still holds. */
    void releaseValues(CompiledGraph g) {
      for (int i = 0; i < values.length; i++) {
        if (values[i] instanceof Tensor t && g.initialValues[i] == null) {
          Refs.release(t);
        }
        values[i] = null;
      }
    }
  }
}
