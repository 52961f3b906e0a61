package dev.millrace.serving.model;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.OpRegistry;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.wire.GraphCodec;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The part of a SavedModel's graph that predictions need. The rest, such as the functions that
 * trained or saved the model, is left out: it may use ops that do not exist here.
 */
final class ServingGraph {
  /** Calls of functions, which the import replaces by the functions' nodes. */
  private static final Set<String> CALLS =
      Set.of(
          "PartitionedCall",
          "StatefulPartitionedCall",
          "If",
          "StatelessIf",
          "Case",
          "StatelessCase",
          "While",
          "StatelessWhile");

  private static final int EXAMPLES = 2;

  private final Map<String, NodeDef> nodes = new HashMap<>();
  private final Map<String, FunctionDef> functions = new HashMap<>();
  private final GraphDef def;

  private ServingGraph(GraphDef def) {
    this.def = def;
    def.getNodeList().forEach(n -> nodes.put(n.getName(), n));
    def.getLibrary().getFunctionList().forEach(f -> functions.put(f.getSignature().getName(), f));
  }

  /** The graph of the nodes that {@code roots} need; on no particular device. */
  static Graph of(GraphDef def, Collection<String> roots, OpRegistry registry, String model) {
    return new ServingGraph(def).graph(roots, registry, model);
  }

  private Graph graph(Collection<String> roots, OpRegistry registry, String model) {
    Set<String> needed = needed(roots, model);
    List<NodeDef> kept =
        def.getNodeList().stream().filter(n -> needed.contains(n.getName())).toList();
    Set<String> called = called(kept);
    checkOps(kept, called, registry, model);
    GraphDef.Builder part = GraphDef.newBuilder().setVersions(def.getVersions());
    kept.forEach(n -> part.addNode(withoutDevice(n)));
    for (String f : called) {
      FunctionDef.Builder function = functions.get(f).toBuilder();
      function.getNodeDefBuilderList().forEach(n -> n.clearDevice().removeAttr("_class"));
      part.getLibraryBuilder().addFunction(function);
    }
    Graph graph = new Graph(registry);
    GraphCodec.importInto(part.build(), graph, false);
    return graph;
  }

  /** Devices are those of the machine that trained; colocation may name nodes left out. */
  private static NodeDef withoutDevice(NodeDef n) {
    return n.toBuilder().clearDevice().removeAttr("_class").build();
  }

  private Set<String> needed(Collection<String> roots, String model) {
    Set<String> found = new LinkedHashSet<>(roots);
    Deque<String> open = new ArrayDeque<>(found);
    while (!open.isEmpty()) {
      String name = open.pop();
      NodeDef n = nodes.get(name);
      if (n == null) {
        throw new MillraceException(
            Code.DATA_LOSS, "The graph of " + model + " has no node '" + name + "'.");
      }
      for (String in : n.getInputList()) {
        String source = SavedModelFolder.node(in.startsWith("^") ? in.substring(1) : in);
        if (found.add(source)) {
          open.push(source);
        }
      }
    }
    return found;
  }

  /** The functions that nodes call, directly or in the bodies of others. */
  private Set<String> called(List<NodeDef> from) {
    Set<String> found = new LinkedHashSet<>();
    Deque<NodeDef> open = new ArrayDeque<>(from);
    while (!open.isEmpty()) {
      NodeDef n = open.pop();
      Set<String> names = new HashSet<>(Set.of(n.getOp()));
      for (AttrValue a : n.getAttrMap().values()) {
        names.add(a.getFunc().getName());
        a.getList().getFuncList().forEach(f -> names.add(f.getName()));
      }
      for (String name : names) {
        if (functions.containsKey(name) && found.add(name)) {
          functions.get(name).getNodeDefList().forEach(open::push);
        }
      }
    }
    return found;
  }

  private void checkOps(List<NodeDef> kept, Set<String> called, OpRegistry registry, String model) {
    Map<String, Set<String>> missing = new TreeMap<>();
    Map<String, List<NodeDef>> places = new LinkedHashMap<>();
    places.put("", kept);
    called.forEach(f -> places.put(f, functions.get(f).getNodeDefList()));
    for (List<NodeDef> place : places.values()) {
      for (NodeDef n : place) {
        if (!CALLS.contains(n.getOp())
            && !functions.containsKey(n.getOp())
            && !registry.has(n.getOp())) {
          missing.computeIfAbsent(n.getOp(), o -> new LinkedHashSet<>()).add(n.getName());
        }
      }
    }
    if (missing.isEmpty()) {
      return;
    }
    StringBuilder text = new StringBuilder();
    missing.forEach(
        (op, where) ->
            text.append(text.isEmpty() ? "" : "; ")
                .append(op)
                .append(" (")
                .append(where.stream().limit(EXAMPLES).map(w -> "'" + w + "'").toList())
                .append(
                    where.size() > EXAMPLES ? " and " + (where.size() - EXAMPLES) + " more" : "")
                .append(')'));
    throw new MillraceException(
        Code.UNIMPLEMENTED,
        model
            + " needs "
            + missing.size()
            + (missing.size() == 1 ? " op" : " ops")
            + " that Millrace does not have: "
            + text
            + ". Export it without them, or add them as an OpLibrary (millrace --jars).");
  }
}
