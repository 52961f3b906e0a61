package dev.millrace.runtime.plan;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.OpRegistry;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * Cuts a placed graph into one graph per location. An edge that leaves a location ends in a Send
 * there and starts from a Recv on the other side; edges from one output to one location share a
 * pair. A control edge travels as an empty tensor. A loop cannot be cut.
 */
public final class Partitioner {
  private final Function<String, String> locationOf;
  private final ToLongFunction<String> incarnationOf;
  private final String suffix;
  private final OpRegistry registry;
  private final Map<String, Graph> parts = new LinkedHashMap<>();
  private final Map<Node, Node> copies = new HashMap<>();

  /** What has been received already: source output (or node, for control) and location. */
  private final Map<List<Object>, Node> received = new HashMap<>();

  private int edges;

  private Partitioner(
      OpRegistry registry,
      Function<String, String> locationOf,
      ToLongFunction<String> incarnationOf,
      String suffix) {
    this.registry = registry;
    this.locationOf = locationOf;
    this.incarnationOf = incarnationOf;
    this.suffix = suffix;
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
    return new Partitioner(placed.registry(), locationOf, incarnationOf, suffix).run(placed);
  }

  private Map<String, Graph> run(Graph placed) {
    checkLoops(placed);
    record BackEdge(Node node, int input, Output source) {}
    List<BackEdge> backEdges = new ArrayList<>();
    for (Node n : placed.nodes()) {
      Graph part = partOf(n.device());
      List<Output> inputs = new ArrayList<>();
      List<Node> controls = new ArrayList<>();
      for (int i = 0; i < n.inputCount(); i++) {
        Output in = n.input(i);
        if (!copies.containsKey(in.node())) {
          backEdges.add(new BackEdge(n, i, in));
          inputs.add(null);
        } else {
          inputs.add(locate(in, n));
        }
      }
      for (Node c : n.controlInputs()) {
        Node here = locateControl(c, n);
        if (!controls.contains(here)) {
          controls.add(here);
        }
      }
      Node copy = part.add(n.name(), n.op(), n.device(), n.attrs(), inputs, controls);
      for (int i = 0; i < n.outputCount(); i++) {
        if (n.output(i).shape().isCompatibleWith(copy.output(i).shape())) {
          copy.output(i).refineShape(n.output(i).shape());
        }
      }
      copies.put(n, copy);
    }
    for (BackEdge e : backEdges) {
      copies
          .get(e.node)
          .graph()
          .connectBackEdge(
              copies.get(e.node), e.input, copies.get(e.source.node()).output(e.source.index()));
    }
    return parts;
  }

  /** The nodes of a loop must be in one place: nothing counts its rounds across a cut. */
  private void checkLoops(Graph placed) {
    boolean[] inside = new boolean[placed.size()];
    // Back edges lead to nodes that are inside already, by the edge that enters the loop.
    for (Node n : placed.nodes()) {
      boolean fromInside = false;
      for (Output in : n.inputs()) {
        Node source = in.node();
        if (source.id() < n.id() && leadsOn(source, inside)) {
          fromInside = true;
          if (!sameLocation(source, n)) {
            throw new MillraceException(
                Code.UNIMPLEMENTED,
                "The loop around '%s' is on %s and, with '%s', on %s. Put all of a loop on one device."
                    .formatted(source.name(), source.device(), n.name(), n.device()));
          }
        }
      }
      for (Node c : n.controlInputs()) {
        fromInside |= leadsOn(c, inside);
      }
      inside[n.id()] = fromInside;
    }
  }

  /** Whether what follows {@code n} is in a loop. */
  private static boolean leadsOn(Node n, boolean[] inside) {
    return n.op().role() == Op.Role.ENTER || (inside[n.id()] && n.op().role() != Op.Role.EXIT);
  }

  private Graph partOf(String device) {
    return parts.computeIfAbsent(locationOf.apply(device), l -> new Graph(registry));
  }

  private boolean sameLocation(Node a, Node b) {
    return locationOf.apply(a.device()).equals(locationOf.apply(b.device()));
  }

  /** The output that gives {@code in} where {@code consumer} is. */
  private Output locate(Output in, Node consumer) {
    Output copy = copies.get(in.node()).output(in.index());
    if (sameLocation(in.node(), consumer)) {
      return copy;
    }
    List<Object> key = List.of(in, locationOf.apply(consumer.device()));
    Node recv = in.isRef() ? null : received.get(key);
    if (recv == null) {
      recv = cut(copy, consumer.device());
      recv.output(0).refineShape(in.shape());
      received.put(key, recv);
    }
    return recv.output(0);
  }

  /** The node that has run where {@code consumer} is once {@code before} has. */
  private Node locateControl(Node before, Node consumer) {
    Node copy = copies.get(before);
    if (sameLocation(before, consumer)) {
      return copy;
    }
    List<Object> key = List.of(before, locationOf.apply(consumer.device()));
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
              before.device(),
              attrs,
              List.of(),
              List.of(copy));
      Node recv = cut(token.output(0), consumer.device());
      here =
          recv.graph()
              .add(
                  name + "_i",
                  registry.get("Identity", name),
                  consumer.device(),
                  Map.of("T", AttrValue.of(DType.FLOAT)),
                  List.of(recv.output(0)),
                  List.of());
      received.put(key, here);
    }
    return here;
  }

  /** Adds a Send of {@code source} where it is and the matching Recv on {@code device}. */
  private Node cut(Output source, String device) {
    Node from = source.node();
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
            List.of());
    Map<String, AttrValue> recv = new LinkedHashMap<>(ends);
    recv.put("tensor_type", AttrValue.of(source.dtype()));
    return partOf(device)
        .add(
            from.name() + "/_" + suffix + id + "_r",
            registry.get("_Recv", from.name()),
            device,
            recv,
            List.of(),
            List.of());
  }
}
