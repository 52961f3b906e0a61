package dev.millrace.runtime.plan;

import dev.millrace.base.steps.Phase;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Output;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * Cuts a placed graph into one graph per location. An edge that leaves a location ends in a Send
 * there and starts from a Recv on the other side; edges from one output to one location share a
 * pair, but for references: each reader has the variable read when it would itself read it. A
 * control edge travels as an empty tensor. Within a loop a pair is used once per round; see {@link
 * LoopStructure}.
 */
public final class GraphPartitioner {
  /** Marks a Recv whose value comes after others have done something. TensorFlow ignores it. */
  public static final String AWAITS_OTHERS = "_millrace_awaits_others";

  private final Function<String, String> locationOf;
  private final ToLongFunction<String> incarnationOf;
  private final String suffix;
  private final OpRegistry registry;
  private final List<Node> nodes;
  private final LoopNest nest;
  private final String[] devices;
  private final LoopStructure rounds;
  private final Map<String, Graph> parts = new LinkedHashMap<>();
  private final Map<Node, Node> copies = new HashMap<>();

  /** What has been received already: source output (or node, for control) and by whom. */
  private final Map<List<Object>, Node> received = new HashMap<>();

  /** Whether what comes before a node waits for other tasks, as far as known. */
  private final Map<Node, Boolean> awaiting = new HashMap<>();

  private int edges;

  private GraphPartitioner(
      Graph placed,
      Function<String, String> locationOf,
      ToLongFunction<String> incarnationOf,
      String suffix) {
    this.registry = placed.registry();
    this.locationOf = locationOf;
    this.incarnationOf = incarnationOf;
    this.suffix = suffix;
    this.nodes = placed.nodes();
    this.nest = LoopNest.of(nodes);
    this.devices = ControlFlowDevices.of(nodes);
    this.rounds = new LoopStructure(nodes, nest, registry, suffix);
  }

  /**
   * The parts of {@code placed} by location.
   *
   * @param locationOf from a full device name to the location, for example its task
   * @param incarnationOf from a full device name to that device's incarnation
   * @param suffix marks the names of inserted nodes: S for a cut between tasks, G within one
   */
  public static Map<String, Graph> partition(
      Graph placed,
      Function<String, String> locationOf,
      ToLongFunction<String> incarnationOf,
      String suffix) {
    return new GraphPartitioner(placed, locationOf, incarnationOf, suffix).run();
  }

  private Map<String, Graph> run() {
    record BackEdge(Node node, int input, Output source) {}
    List<BackEdge> backEdges = new ArrayList<>();
    for (Node n : nodes) {
      String device = devices[n.id()];
      List<Output> inputs = new ArrayList<>();
      Set<Node> controls = new LinkedHashSet<>();
      for (int i = 0; i < n.inputCount(); i++) {
        Output in = n.input(i);
        if (!copies.containsKey(in.node())) {
          backEdges.add(new BackEdge(n, i, in));
          inputs.add(null);
        } else {
          List<Node> before =
              in.isRef() && !isAt(in.node(), device) ? beforeRead(n, in) : List.of();
          inputs.add(locate(in, device, nest.frameOf(n), before));
          countRounds(in.node(), device, controls);
        }
      }
      for (Node c : n.controlInputs()) {
        if (nest.frameOf(n) == 0 || !Simplifier.isConstant(c)) {
          controls.add(locateControl(c, device));
          countRounds(c, device, controls);
        }
      }
      Node copy =
          partOf(device).add(n.name(), n.op(), device, n.attrs(), inputs, List.copyOf(controls));
      for (int i = 0; i < n.outputCount(); i++) {
        if (n.output(i).shape().isCompatibleWith(copy.output(i).shape())) {
          copy.output(i).refineShape(n.output(i).shape());
        }
      }
      copies.put(n, copy);
      rounds.copied(n, copy);
    }
    rounds.close(this::locateCondition);
    for (BackEdge e : backEdges) {
      copies
          .get(e.node)
          .graph()
          .connectBackEdge(
              copies.get(e.node), e.input, copies.get(e.source.node()).output(e.source.index()));
    }
    return parts;
  }

  private Graph partOf(String device) {
    return parts.computeIfAbsent(locationOf.apply(device), l -> new Graph(registry));
  }

  private boolean isAt(Node source, String device) {
    return locationOf.apply(devices[source.id()]).equals(locationOf.apply(device));
  }

  /**
   * An edge within a loop from one device to another of the same location is not cut here. Whoever
   * cuts it later finds what counts the rounds among the reader's control inputs.
   */
  private void countRounds(Node source, String device, Set<Node> controls) {
    int frame = nest.outputFrame(source);
    if (frame != 0 && !devices[source.id()].equals(device) && isAt(source, device)) {
      rounds.in(frame, partOf(devices[source.id()]), devices[source.id()]);
      controls.add(rounds.controlLoop(frame, partOf(device), device));
    }
  }

  /**
   * What must have run where {@code ref} is before {@code reader}, which is elsewhere, may be sent
   * its value: all else that the reader waits for, as one of these may change the variable. A
   * reference is read when its reader runs, and the Send is the part of the reader that does it.
   */
  private List<Node> beforeRead(Node reader, Output ref) {
    String device = devices[ref.node().id()];
    Set<Node> before = new LinkedHashSet<>();
    Set<Node> sources = new LinkedHashSet<>(reader.controlInputs());
    for (Output in : reader.inputs()) {
      if (!in.isRef()) {
        sources.add(in.node());
      }
    }
    for (Node source : sources) {
      if (!Simplifier.isConstant(source)) {
        before.add(locateControl(source, device));
        countRounds(source, device, before);
      }
    }
    return List.copyOf(before);
  }

  /**
   * The output that gives {@code in} on {@code device} to a reader in a loop, or in none. If it is
   * a reference of another location it is read once {@code before} have run there.
   */
  private Output locate(Output in, String device, int frame, List<Node> before) {
    Output copy = copies.get(in.node()).output(in.index());
    if (isAt(in.node(), device)) {
      return copy;
    }
    List<Object> key = List.of(in, sharedBy(device, frame));
    Node here = in.isRef() ? null : received.get(key);
    if (here == null) {
      here =
          frame != 0 && Simplifier.isConstant(in.node())
              ? again(in.node(), device)
              : cut(copy, nest.outputFrame(in.node()), device, before);
      here.output(0).refineShape(in.shape());
      received.put(key, here);
    }
    return here.output(0);
  }

  /**
   * Who shares what is received: a location; in a loop a device, as each counts rounds by itself.
   */
  private String sharedBy(String device, int frame) {
    return frame == 0 ? locationOf.apply(device) : device;
  }

  /** A constant is not sent into a loop: it is sent once, and would be received in every round. */
  private Node again(Node constant, String device) {
    String name = constant.name() + "/_" + suffix + edges++;
    return partOf(device).add(name, constant.op(), device, constant.attrs(), List.of(), List.of());
  }

  /** The node that has run on {@code device} once {@code before} has. */
  private Node locateControl(Node before, String device) {
    Node copy = copies.get(before);
    if (isAt(before, device)) {
      return copy;
    }
    List<Object> key = List.of(before, sharedBy(device, nest.outputFrame(before)));
    Node here = received.get(key);
    if (here == null) {
      Graph source = copy.graph();
      String name = before.name() + "/_" + suffix + edges;
      Map<String, AttrValue> attrs = new LinkedHashMap<>();
      attrs.put("value", AttrValue.of(Tensor.of(Shape.of(0), new float[0])));
      attrs.put("dtype", AttrValue.of(DType.FLOAT));
      Node token =
          source.add(
              name + "_c",
              registry.get("Const", name),
              copy.device(),
              attrs,
              List.of(),
              List.of(copy));
      Node recv = cut(token.output(0), nest.outputFrame(before), device, List.of());
      here =
          recv.graph()
              .add(
                  name + "_i",
                  registry.get("Identity", name),
                  device,
                  Map.of("T", AttrValue.of(DType.FLOAT)),
                  List.of(recv.output(0)),
                  List.of());
      received.put(key, here);
    }
    return here;
  }

  /**
   * Whether what comes before a node on its own location waits for more than that location, as a
   * token of synchronous training does: who receives it waits for others then.
   */
  private boolean awaitsOthers(Node from) {
    Boolean known = awaiting.get(from);
    if (known != null) {
      return known;
    }
    boolean found = false;
    Set<Node> seen = new HashSet<>(List.of(from));
    Deque<Node> open = new ArrayDeque<>(seen);
    while (!found && !open.isEmpty()) {
      Node n = open.pop();
      found = n.op().isAsync() && n.op().role() != Op.Role.RECV && n.op().waitsIn() == Phase.WAIT;
      for (int i = 0; i < n.inputCount(); i++) {
        if (n.input(i) != null && seen.add(n.input(i).node())) {
          open.push(n.input(i).node());
        }
      }
      for (Node c : n.controlInputs()) {
        if (seen.add(c)) {
          open.push(c);
        }
      }
    }
    awaiting.put(from, found);
    return found;
  }

  private Output locateCondition(Output condition, Node merge, List<Node> controls) {
    int frame = nest.outputFrame(condition.node());
    Output here = locate(condition, merge.device(), frame, List.of());
    if (isAt(condition.node(), merge.device())
        && !devices[condition.node().id()].equals(merge.device())) {
      controls.add(merge);
    }
    return here;
  }

  /**
   * Adds a Send of {@code source} where it is, for when {@code before} have run, and the matching
   * Recv on {@code device}.
   */
  private Node cut(Output source, int frame, String device, List<Node> before) {
    Node from = source.node();
    List<Node> eachRound = List.of();
    if (frame != 0) {
      // The sender's side must have rounds too, even if all it reads is the same in each.
      rounds.in(frame, from.graph(), from.device());
      eachRound = List.of(rounds.in(frame, partOf(device), device));
    }
    int id = edges++;
    Map<String, AttrValue> ends = new LinkedHashMap<>();
    ends.put("tensor_name", AttrValue.of("edge_" + id + "_" + from.name()));
    ends.put("send_device", AttrValue.of(from.device()));
    ends.put("send_device_incarnation", AttrValue.of(incarnationOf.applyAsLong(from.device())));
    ends.put("recv_device", AttrValue.of(device));
    Map<String, AttrValue> send = new LinkedHashMap<>(ends);
    send.put("T", AttrValue.of(source.dtype()));
    from.graph()
        .add(
            from.name() + "/_" + suffix + id + "_s",
            registry.get("_Send", from.name()),
            from.device(),
            send,
            List.of(source),
            before);
    Map<String, AttrValue> recv = new LinkedHashMap<>(ends);
    recv.put("tensor_type", AttrValue.of(source.dtype()));
    if (awaitsOthers(from)) {
      recv.put(AWAITS_OTHERS, AttrValue.of(true));
    }
    return partOf(device)
        .add(
            from.name() + "/_" + suffix + id + "_r",
            registry.get("_Recv", from.name()),
            device,
            recv,
            List.of(),
            eachRound);
  }
}
