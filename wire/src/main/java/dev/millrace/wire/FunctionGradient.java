package dev.millrace.wire;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.FunctionGraph;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.NodeDef;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The gradient of a function, as the nodes that compute it: from the arguments and the gradients of
 * the results those of the arguments, in the order that SymbolicGradient has them. An argument that
 * the results do not depend on has a gradient of zeros.
 */
final class FunctionGradient {
  private final Map<String, String> arguments = new HashMap<>();
  private final List<NodeDef> nodes = new ArrayList<>();
  private final List<String> results = new ArrayList<>();

  /**
   * Of the function that {@code caller} names. Its nodes get names that begin with {@code prefix},
   * read {@code inputs}, and where they read nothing else wait for {@code controls}.
   */
  FunctionGradient(
      NodeDef caller,
      OpRegistry registry,
      Map<String, FunctionDef> functions,
      String prefix,
      List<String> inputs,
      List<String> controls) {
    AttrValue f = AttrCodec.decode(caller.getAttrOrThrow("f"));
    AttrValue.Func bound =
        (AttrValue.Func) new FunctionGraphs(registry, functions).bound(caller, f);
    FunctionGraph body = bound.body();
    int all = body.arguments().size() + body.results().size();
    if (inputs.size() != all) {
      throw MillraceException.invalid(
          "%s '%s' has %d inputs; for function '%s' it needs %d: its arguments and a gradient for"
              + " each result.",
          caller.getOp(), caller.getName(), inputs.size(), bound.name(), all);
    }
    List<Output> dx = build(body);
    for (NodeDef node : GraphCodec.encode(body.graph()).getNodeList()) {
      if (node.getOp().equals("_Arg")) {
        int index = (int) node.getAttrOrThrow("index").getI();
        arguments.put(node.getName(), inputs.get(index));
      }
    }
    for (NodeDef node : GraphCodec.encode(body.graph()).getNodeList()) {
      if (!node.getOp().equals("_Arg") && !node.getOp().equals("_Retval")) {
        nodes.add(placed(node, prefix, caller.getDevice(), controls));
      }
    }
    for (Output g : dx) {
      results.add(edge(g.index() == 0 ? g.node().name() : g.name(), prefix));
    }
  }

  /** Adds the nodes of the gradient to the function's graph, which nobody else has. */
  private static List<Output> build(FunctionGraph body) {
    Graph graph = body.graph();
    int n = body.arguments().size();
    Map<Long, Output> xs = new TreeMap<>();
    Map<Long, Output> ys = new TreeMap<>();
    for (Node node : graph.nodes()) {
      if (node.op().name().equals("_Arg")) {
        xs.put(node.longAttr("index"), node.output(0));
      } else if (node.op().name().equals("_Retval")) {
        ys.put(node.longAttr("index"), node.input(0));
      }
    }
    Scope scope = Scope.of(graph).withSubScope("gradient");
    List<Output> starts = new ArrayList<>();
    List<Output> differentiable = new ArrayList<>();
    for (Output y : ys.values()) {
      Output start =
          scope.node("_Arg").attr("T", y.dtype()).attr("index", (long) n++).add().output();
      if (y.dtype().isDifferentiable()) {
        starts.add(start);
        differentiable.add(y);
      }
    }
    List<Output> inputs = List.copyOf(xs.values());
    List<Grad> grads =
        Gradients.of(
            scope, differentiable, inputs, new Gradients.Options(starts, List.of(), false));
    List<Output> dx = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      dx.add(
          grads.get(i) instanceof Grad.None
              ? scope.node("ZerosLike").input(inputs.get(i)).add().output()
              : Gradients.dense(scope, grads.get(i)));
    }
    return dx;
  }

  private NodeDef placed(NodeDef node, String prefix, String device, List<String> controls) {
    NodeDef.Builder b = node.toBuilder().setName(prefix + node.getName()).clearInput();
    boolean readsBody = false;
    for (String in : node.getInputList()) {
      boolean isControl = in.startsWith("^");
      String name = isControl ? in.substring(1) : in;
      if (isControl && arguments.containsKey(name)) {
        b.addInput("^" + nodeOf(arguments.get(name)));
      } else {
        b.addInput((isControl ? "^" : "") + edge(name, prefix));
        readsBody |= !arguments.containsKey(nodeOf(name));
      }
    }
    if (!readsBody) {
      controls.stream().filter(c -> !b.getInputList().contains(c)).forEach(b::addInput);
    }
    b.removeAttr("_class");
    return b.setDevice(device).build();
  }

  private String edge(String in, String prefix) {
    String argument = arguments.get(nodeOf(in));
    return argument != null ? argument : prefix + in;
  }

  private static String nodeOf(String edge) {
    int colon = edge.indexOf(':');
    return colon < 0 ? edge : edge.substring(0, colon);
  }

  /** The nodes to add to the caller's graph. */
  List<NodeDef> nodes() {
    return nodes;
  }

  /** The edges that carry the gradients of the arguments. */
  List<String> results() {
    return results;
  }
}
