package dev.millrace.runtime.plan;

import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The part of a graph that a run needs, as a graph of its own: feeds in place of the outputs they
 * replace, an end for each fetch, and the device given to every node.
 */
public final class ClientGraph {
  /** How values enter and leave: by position in this process, or by rendezvous over a cluster. */
  public interface Boundary {
    /** Adds the node that gives a fed value. */
    Node feed(Graph graph, Output fed, int index);

    /** Adds the node that takes a fetched value; {@code value} is its source in the new graph. */
    Node fetch(Graph graph, Output fetched, Output value, int index);
  }

  private ClientGraph() {}

  /**
   * Prunes {@code source} to what {@code wish} needs; {@code devices} gives each node its place.
   */
  public static Graph of(
      Graph source, StepSignature wish, Map<Node, String> devices, Boundary boundary) {
    Set<Node> needed = needed(wish);
    Graph out = new Graph(source.registry());
    Map<Output, Output> feeds = new HashMap<>();
    Map<Node, Node> copies = new HashMap<>();
    for (int i = 0; i < wish.feeds().size(); i++) {
      Output fed = wish.feeds().get(i);
      Node node = boundary.feed(out, fed, i);
      node.output(0).refineShape(fed.shape());
      feeds.put(fed, node.output(0));
      // What waited for a placeholder waits for the value fed in its place.
      if (isPlaceholder(fed.node()) && !needed.contains(fed.node())) {
        copies.put(fed.node(), node);
      }
    }
    copy(source, out, needed, devices, feeds, copies);
    for (int i = 0; i < wish.fetches().size(); i++) {
      Output fetched = wish.fetches().get(i);
      Output value = copies.get(fetched.node()).output(fetched.index());
      boundary.fetch(out, fetched, value, i);
    }
    return out;
  }

  private static boolean isPlaceholder(Node n) {
    return n.op().name().equals("Placeholder") || n.op().name().equals("PlaceholderV2");
  }

  /** All nodes that must run: backwards from fetches and targets, not beyond what is fed. */
  private static Set<Node> needed(StepSignature wish) {
    Set<Output> fed = new HashSet<>(wish.feeds());
    Set<Node> fedPlaceholders = new HashSet<>();
    for (Output f : wish.feeds()) {
      if (isPlaceholder(f.node())) {
        fedPlaceholders.add(f.node());
      }
    }
    Set<Node> needed = new HashSet<>();
    Deque<Node> stack = new ArrayDeque<>();
    wish.fetches().forEach(f -> stack.push(f.node()));
    wish.targets().forEach(stack::push);
    while (!stack.isEmpty()) {
      Node n = stack.pop();
      if (fedPlaceholders.contains(n) || !needed.add(n)) {
        continue;
      }
      for (Output in : n.inputs()) {
        if (!fed.contains(in)) {
          stack.push(in.node());
        }
      }
      for (Node c : n.controlInputs()) {
        stack.push(c);
      }
    }
    return needed;
  }

  /** Copies nodes in their order of creation; a loop's back edges are connected at the end. */
  static void copy(
      Graph source,
      Graph out,
      Set<Node> needed,
      Map<Node, String> devices,
      Map<Output, Output> replaced,
      Map<Node, Node> copies) {
    record BackEdge(Node node, int input, Output source) {}
    List<BackEdge> backEdges = new ArrayList<>();
    for (Node n : source.nodes()) {
      if (!needed.contains(n)) {
        continue;
      }
      List<Output> inputs = new ArrayList<>();
      for (int i = 0; i < n.inputCount(); i++) {
        Output in = n.input(i);
        Output to = replaced.get(in);
        if (to == null) {
          Node copied = copies.get(in.node());
          to = copied == null ? null : copied.output(in.index());
          if (to == null) {
            backEdges.add(new BackEdge(n, i, in));
          }
        }
        inputs.add(to);
      }
      List<Node> controls = new ArrayList<>();
      for (Node c : n.controlInputs()) {
        Node copied = copies.get(c);
        if (copied != null && !controls.contains(copied)) {
          controls.add(copied);
        }
      }
      String device = devices.getOrDefault(n, n.device());
      Node copy = out.add(n.name(), n.op(), device, n.attrs(), inputs, controls);
      for (int i = 0; i < n.outputCount(); i++) {
        if (n.output(i).shape().isCompatibleWith(copy.output(i).shape())) {
          copy.output(i).refineShape(n.output(i).shape());
        }
      }
      copies.put(n, copy);
    }
    for (BackEdge e : backEdges) {
      Output to = replaced.get(e.source);
      out.connectBackEdge(
          copies.get(e.node),
          e.input,
          to != null ? to : copies.get(e.source.node()).output(e.source.index()));
    }
  }

  /** Values enter as {@code _Arg} and leave as {@code _Retval} nodes on {@code device}. */
  public static Boundary inProcess(String device) {
    return new Boundary() {
      @Override
      public Node feed(Graph graph, Output fed, int index) {
        Op arg = graph.registry().get("_Arg", fed.name());
        Map<String, AttrValue> attrs = new LinkedHashMap<>();
        attrs.put("T", AttrValue.of(fed.dtype()));
        attrs.put("index", AttrValue.of(index));
        return graph.add(
            "_arg_" + flat(fed) + "_" + index, arg, device, attrs, List.of(), List.of());
      }

      @Override
      public Node fetch(Graph graph, Output fetched, Output value, int index) {
        Op retval = graph.registry().get("_Retval", fetched.name());
        Map<String, AttrValue> attrs = new LinkedHashMap<>();
        attrs.put("T", AttrValue.of(fetched.dtype()));
        attrs.put("index", AttrValue.of(index));
        return graph.add(
            "_retval_" + flat(fetched) + "_" + index,
            retval,
            device,
            attrs,
            List.of(value),
            List.of());
      }
    };
  }

  /**
   * Values enter by {@code _Recv} and leave by {@code _Send} nodes on the client device, under
   * their names.
   */
  public static Boundary byRendezvous(String clientDevice, long incarnation) {
    return new Boundary() {
      @Override
      public Node feed(Graph graph, Output fed, int index) {
        Map<String, AttrValue> attrs = ends(fed.name());
        attrs.put("tensor_type", AttrValue.of(fed.dtype()));
        return graph.add(
            "_recv_" + flat(fed),
            graph.registry().get("_Recv", fed.name()),
            clientDevice,
            attrs,
            List.of(),
            List.of());
      }

      @Override
      public Node fetch(Graph graph, Output fetched, Output value, int index) {
        Map<String, AttrValue> attrs = ends(fetched.name());
        attrs.put("T", AttrValue.of(fetched.dtype()));
        return graph.add(
            "_send_" + flat(fetched) + "_" + index,
            graph.registry().get("_Send", fetched.name()),
            clientDevice,
            attrs,
            List.of(value),
            List.of());
      }

      private Map<String, AttrValue> ends(String tensorName) {
        Map<String, AttrValue> attrs = new LinkedHashMap<>();
        attrs.put("tensor_name", AttrValue.of(tensorName));
        attrs.put("send_device", AttrValue.of(clientDevice));
        attrs.put("send_device_incarnation", AttrValue.of(incarnation));
        attrs.put("recv_device", AttrValue.of(clientDevice));
        attrs.put("client_terminated", AttrValue.of(true));
        return attrs;
      }
    };
  }

  private static String flat(Output o) {
    return o.node().name() + "_" + o.index();
  }
}
