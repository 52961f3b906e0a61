package dev.millrace.wire;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.FunctionGraph;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.OpRegistry;
import dev.millrace.proto.DataType;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.FunctionDefLibrary;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.tensor.DType;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Converts functions that nodes have as attributes, such as the function of a map dataset, from the
 * definitions in a GraphDef to separate graphs, and back.
 */
final class FunctionGraphs {
  private static final int MAX_DEPTH = 64;

  private final OpRegistry registry;
  private final Map<String, FunctionDef> functions;
  private final Map<AttrValue.Func, FunctionGraph> made = new HashMap<>();
  private int depth;

  FunctionGraphs(OpRegistry registry, Map<String, FunctionDef> functions) {
    this.registry = registry;
    this.functions = functions;
  }

  Map<String, FunctionDef> definitions() {
    return functions;
  }

  // ---- from messages ----

  /** The attribute with the bodies of the functions it names. */
  AttrValue bound(NodeDef node, AttrValue v) {
    return switch (v) {
      case AttrValue.Func f -> new AttrValue.Func(f.name(), f.attrs(), body(node, f));
      case AttrValue.Many m when m.values().stream().anyMatch(AttrValue.Func.class::isInstance) ->
          new AttrValue.Many(m.values().stream().map(f -> bound(node, f)).toList());
      default -> v;
    };
  }

  private FunctionGraph body(NodeDef node, AttrValue.Func f) {
    FunctionGraph known = made.get(f);
    if (known != null) {
      return known;
    }
    FunctionDef definition = functions.get(f.name());
    if (definition == null) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "Node '%s' (%s) calls function '%s', which is not in the graph's library."
              .formatted(node.getName(), node.getOp(), f.name()));
    }
    if (depth >= MAX_DEPTH) {
      throw MillraceException.invalid(
          "The functions called by '%s' do not come to an end: they are %d levels deep.",
          node.getName(), depth);
    }
    depth++;
    try {
      FunctionGraph body = read(definition, f);
      made.put(f, body);
      return body;
    } catch (MillraceException e) {
      throw e.withMessage(
          e.getMessage().contains("In function '")
              ? e.getMessage()
              : "In function '%s', called by '%s': %s"
                  .formatted(f.name(), node.getName(), e.getMessage()));
    } finally {
      depth--;
    }
  }

  private FunctionGraph read(FunctionDef definition, AttrValue.Func f) {
    Map<String, dev.millrace.proto.AttrValue> attrs = new HashMap<>();
    f.attrs().forEach((k, v) -> attrs.put(k, AttrCodec.encode(v)));
    FunctionBody body = new FunctionBody(definition, attrs, registry, functions);
    GraphDef.Builder def = GraphDef.newBuilder();
    List<DType> arguments = new ArrayList<>();
    Map<String, String> byName = new HashMap<>();
    for (String argument : body.arguments()) {
      int i = arguments.size();
      arguments.add(type(f, body.argumentType(i)));
      byName.put(argument, argument);
      def.addNode(end("_Arg", argument, i, body.argumentType(i)));
    }
    for (NodeDef n : body.nodes()) {
      NodeDef.Builder b = n.toBuilder().clearInput().clearDevice();
      n.getInputList().forEach(in -> b.addInput(body.flat(in, "", byName)));
      body.fixColocation(b, "");
      def.addNode(b);
    }
    List<DType> results = new ArrayList<>();
    for (String result : body.results()) {
      int i = results.size();
      results.add(type(f, body.resultType(i)));
      def.addNode(
          end("_Retval", "_result_" + i, i, body.resultType(i))
              .addInput(body.flat(result, "", byName)));
    }
    Graph graph = new Graph(registry);
    GraphCodec.importInto(def.build(), graph, false, this);
    return new FunctionGraph(graph, arguments, results, closure(definition));
  }

  private static DType type(AttrValue.Func f, DataType type) {
    if (type == DataType.DT_INVALID || type == DataType.UNRECOGNIZED) {
      throw MillraceException.invalid(
          "Function '%s' has an argument or result of a type that is not known here.", f.name());
    }
    return DType.of(type.getNumber());
  }

  private static NodeDef.Builder end(String op, String name, int index, DataType type) {
    return NodeDef.newBuilder()
        .setOp(op)
        .setName(name)
        .putAttr("T", dev.millrace.proto.AttrValue.newBuilder().setType(type).build())
        .putAttr("index", dev.millrace.proto.AttrValue.newBuilder().setI(index).build());
  }

  /** A function with all that it calls. */
  private FunctionDefLibrary closure(FunctionDef definition) {
    Map<String, FunctionDef> found = new LinkedHashMap<>();
    Deque<FunctionDef> open = new ArrayDeque<>(List.of(definition));
    while (!open.isEmpty()) {
      FunctionDef f = open.poll();
      if (found.put(f.getSignature().getName(), f) != null) {
        continue;
      }
      for (NodeDef n : f.getNodeDefList()) {
        add(n.getOp(), open);
        for (dev.millrace.proto.AttrValue a : n.getAttrMap().values()) {
          add(a.getFunc().getName(), open);
          a.getList().getFuncList().forEach(g -> add(g.getName(), open));
        }
      }
    }
    return FunctionDefLibrary.newBuilder().addAllFunction(found.values()).build();
  }

  private void add(String name, Deque<FunctionDef> open) {
    FunctionDef f = functions.get(name);
    if (f != null) {
      open.add(f);
    }
  }

  // ---- to messages ----

  /** The definitions of all functions that these nodes call. */
  static FunctionDefLibrary libraryOf(Collection<Node> nodes) {
    Map<String, FunctionDef> all = new LinkedHashMap<>();
    nodes.forEach(n -> n.attrs().values().forEach(v -> collect(n, v, all)));
    return FunctionDefLibrary.newBuilder().addAllFunction(all.values()).build();
  }

  private static void collect(Node n, AttrValue v, Map<String, FunctionDef> all) {
    if (v instanceof AttrValue.Many m) {
      m.values().forEach(e -> collect(n, e, all));
    } else if (v instanceof AttrValue.Func f && f.body() != null) {
      if (!(f.body().definition() instanceof FunctionDefLibrary library)) {
        throw new MillraceException(
            Code.UNIMPLEMENTED,
            "Node '%s': function '%s' was built in this process and has no definition to send."
                .formatted(n.name(), f.name()));
      }
      library.getFunctionList().forEach(d -> all.put(d.getSignature().getName(), d));
    }
  }
}
