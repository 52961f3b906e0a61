package dev.millrace.wire;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.name.Names;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.FunctionDefLibrary;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.VersionDef;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Converts graphs from and to GraphDefs. */
public final class GraphCodec {
  /**
   * The graph version that Millrace writes: that of TensorFlow 1.15, which all later versions read.
   */
  private static final int PRODUCER = 134;

  /** The collection of a graph's functions. */
  private static final String LIBRARY = "function_library";

  /** The maximum number of nodes of a cycle in an error message. */
  private static final int SHOWN = 8;

  private GraphCodec() {}

  // ---- to messages ----

  /** Encodes the whole graph. */
  public static GraphDef encode(Graph graph) {
    return encode(graph, 0);
  }

  /** Encodes the nodes with id {@code from} and later, for ExtendSession. */
  public static GraphDef encode(Graph graph, int from) {
    GraphDef.Builder b = GraphDef.newBuilder();
    b.setVersions(VersionDef.newBuilder().setProducer(PRODUCER));
    List<Node> nodes = graph.nodes();
    for (Node n : nodes.subList(from, nodes.size())) {
      b.addNode(encode(n));
    }
    FunctionDefLibrary library = FunctionGraphs.libraryOf(nodes.subList(from, nodes.size()));
    if (library.getFunctionCount() > 0) {
      b.setLibrary(library);
    }
    return b.build();
  }

  private static NodeDef encode(Node n) {
    NodeDef.Builder b =
        NodeDef.newBuilder().setName(n.name()).setOp(n.op().name()).setDevice(n.device());
    n.inputs().forEach(in -> b.addInput(in.inputName()));
    n.controlInputs().forEach(c -> b.addInput("^" + c.name()));
    n.attrs().forEach((k, v) -> b.putAttr(k, AttrCodec.encode(v)));
    return b.build();
  }

  // ---- from messages ----

  /** Parses a serialised GraphDef into {@code graph}. */
  public static void parseInto(byte[] serialized, Graph graph) {
    try {
      importInto(GraphDef.parseFrom(serialized), graph, true);
    } catch (InvalidProtocolBufferException e) {
      throw MillraceException.invalid(
          "%d bytes are not a GraphDef: %s", serialized.length, e.getMessage());
    }
  }

  /**
   * Adds the nodes of a GraphDef to a graph that may have nodes already. They may come in any order
   * and may contain loops. Nothing is added if anything is wrong with names or edges. Calls of
   * functions, of this GraphDef or one imported before, are replaced by what they do; functions
   * that are attributes of nodes are kept with these.
   *
   * @param fromClient whether names are held to the rule for clients; partitions made by a master
   *     contain names that begin with an underscore
   */
  public static void importInto(GraphDef def, Graph graph, boolean fromClient) {
    Map<String, FunctionDef> functions = functions(graph, def.getLibrary());
    importInto(def, graph, fromClient, new FunctionGraphs(graph.registry(), functions));
  }

  static void importInto(GraphDef def, Graph graph, boolean fromClient, FunctionGraphs functions) {
    FunctionLowering.Lowered lowered =
        FunctionLowering.lower(def, graph.registry(), functions.definitions());
    List<NodeDef> nodes = lowered.nodes();
    Map<String, Integer> index = new HashMap<>();
    for (int i = 0; i < nodes.size(); i++) {
      String name = nodes.get(i).getName();
      if (fromClient ? !Names.isValid(name) : name.isEmpty()) {
        throw MillraceException.invalid(
            "Node %d of the graph has the name '%s'; a name must begin with a letter, digit or"
                + " dot and go on with those or one of _ - / >.",
            i, name);
      }
      if (index.put(name, i) != null || graph.find(name) != null) {
        throw MillraceException.invalid("Node '%s' is in the graph twice.", name);
      }
    }
    List<ParsedNode> parsed = new ArrayList<>();
    for (NodeDef n : nodes) {
      parsed.add(parse(n, graph));
    }
    for (int i : order(parsed, index, graph)) {
      add(parsed.get(i), graph, functions);
    }
    for (ParsedNode p : parsed) {
      for (int k : p.open) {
        Edge e = p.inputs.get(k);
        graph.connectBackEdge(graph.node(p.def.getName()), k, graph.output(e.node, e.output));
      }
    }
    lowered
        .outputs()
        .forEach((name, made) -> graph.lend(name, made.stream().map(graph::output).toList()));
  }

  /** The functions of the graph and of {@code more}; a later definition replaces an earlier one. */
  private static Map<String, FunctionDef> functions(Graph graph, FunctionDefLibrary more) {
    List<Object> library = graph.collection(LIBRARY);
    Map<String, FunctionDef> byName = new HashMap<>();
    synchronized (library) {
      library.addAll(more.getFunctionList());
      for (Object f : library) {
        byName.put(((FunctionDef) f).getSignature().getName(), (FunctionDef) f);
      }
    }
    return byName;
  }

  /** One data input. */
  private record Edge(String node, int output) {}

  /** A parsed node that is not added yet. {@code open}: inputs that are back edges of a loop. */
  private record ParsedNode(
      NodeDef def, Op op, List<Edge> inputs, List<String> controls, List<Integer> open) {}

  private static ParsedNode parse(NodeDef n, Graph graph) {
    Op op = graph.registry().get(n.getOp(), n.getName());
    List<Edge> inputs = new ArrayList<>();
    List<String> controls = new ArrayList<>();
    for (String in : n.getInputList()) {
      if (in.startsWith("^")) {
        controls.add(in.substring(1));
        continue;
      }
      if (!controls.isEmpty()) {
        throw MillraceException.invalid(
            "Node '%s': data input '%s' comes after a control input; those come last.",
            n.getName(), in);
      }
      int colon = in.lastIndexOf(':');
      try {
        inputs.add(
            colon < 0
                ? new Edge(in, 0)
                : new Edge(in.substring(0, colon), Integer.parseInt(in.substring(colon + 1))));
      } catch (NumberFormatException e) {
        throw MillraceException.invalid(
            "Node '%s': input '%s' is not of the form node:index.", n.getName(), in);
      }
    }
    return new ParsedNode(n, op, inputs, controls, new ArrayList<>());
  }

  /** The nodes in topological order. In loops, edges from NextIteration to Merge are left open. */
  private static List<Integer> order(
      List<ParsedNode> nodes, Map<String, Integer> index, Graph graph) {
    int[] pending = new int[nodes.size()];
    List<List<Integer>> consumers = new ArrayList<>();
    nodes.forEach(n -> consumers.add(new ArrayList<>()));
    for (int i = 0; i < nodes.size(); i++) {
      ParsedNode p = nodes.get(i);
      for (int k = 0; k < p.inputs.size(); k++) {
        String name = p.inputs.get(k).node;
        Integer source = index.get(name);
        if (source == null) {
          checkKnown(p, name, graph);
        } else if (p.op.role() == Op.Role.MERGE
            && nodes.get(source).op.role() == Op.Role.NEXT_ITERATION) {
          p.open.add(k);
        } else {
          pending[i]++;
          consumers.get(source).add(i);
        }
      }
      for (String name : p.controls) {
        Integer source = index.get(name);
        if (source == null) {
          checkKnown(p, name, graph);
        } else {
          pending[i]++;
          consumers.get(source).add(i);
        }
      }
    }
    List<Integer> order = new ArrayList<>();
    Deque<Integer> ready = new ArrayDeque<>();
    for (int i = 0; i < pending.length; i++) {
      if (pending[i] == 0) {
        ready.add(i);
      }
    }
    while (!ready.isEmpty()) {
      int i = ready.poll();
      order.add(i);
      for (int c : consumers.get(i)) {
        if (--pending[c] == 0) {
          ready.add(c);
        }
      }
    }
    if (order.size() < nodes.size()) {
      throw MillraceException.invalid(
          "The graph has a cycle: %s. Only NextIteration may lead back, into a Merge.",
          cycle(nodes, index, pending));
    }
    return order;
  }

  /** A cycle among the nodes that cannot be ordered. */
  private static String cycle(List<ParsedNode> nodes, Map<String, Integer> index, int[] pending) {
    Set<Integer> way = new LinkedHashSet<>();
    int at = 0;
    while (pending[at] == 0) {
      at++;
    }
    while (way.add(at)) {
      at = awaited(nodes.get(at), index, pending);
    }
    List<String> names = new ArrayList<>();
    for (int i : way) {
      if (i == at || !names.isEmpty()) {
        names.add("'" + nodes.get(i).def.getName() + "'");
      }
    }
    int shown = Math.min(names.size(), SHOWN);
    return "node "
        + String.join(" needs ", names.subList(0, shown))
        + (shown < names.size() ? " and so on, which" : "")
        + " needs "
        + names.getFirst();
  }

  /** A node that {@code p} depends on and that cannot be added either. */
  private static int awaited(ParsedNode p, Map<String, Integer> index, int[] pending) {
    for (int k = 0; k < p.inputs.size(); k++) {
      Integer source = index.get(p.inputs.get(k).node);
      if (source != null && pending[source] > 0 && !p.open.contains(k)) {
        return source;
      }
    }
    return p.controls.stream()
        .map(index::get)
        .filter(i -> i != null && pending[i] > 0)
        .findFirst()
        .orElseThrow();
  }

  private static void checkKnown(ParsedNode p, String input, Graph graph) {
    if (graph.find(input) == null) {
      throw MillraceException.invalid(
          "Node '%s': input '%s' is neither in this GraphDef nor in the graph.",
          p.def.getName(), input);
    }
  }

  private static void add(ParsedNode p, Graph graph, FunctionGraphs functions) {
    List<Output> inputs = new ArrayList<>();
    for (int k = 0; k < p.inputs.size(); k++) {
      Edge e = p.inputs.get(k);
      inputs.add(p.open.contains(k) ? null : graph.output(e.node, e.output));
    }
    Set<Node> controls = new LinkedHashSet<>();
    p.controls.forEach(c -> controls.add(graph.node(c)));
    Map<String, AttrValue> attrs = new LinkedHashMap<>();
    p.def
        .getAttrMap()
        .forEach(
            (k, v) -> {
              try {
                AttrValue value = AttrCodec.decode(v);
                attrs.put(k, p.op.attrs().containsKey(k) ? functions.bound(p.def, value) : value);
              } catch (MillraceException e) {
                if (!p.op.attrs().containsKey(k)) {
                  // An internal attribute of TensorFlow: kept without interpretation.
                  attrs.put(k, new AttrValue.Opaque(v.toByteArray()));
                  return;
                }
                throw e.withMessage(
                    "Node '" + p.def.getName() + "', attribute '" + k + "': " + e.getMessage());
              }
            });
    graph.add(p.def.getName(), p.op, p.def.getDevice(), attrs, inputs, List.copyOf(controls));
  }
}
