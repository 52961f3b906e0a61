package dev.millrace.cli.files;

import dev.millrace.cli.text.CommandOutput;
import dev.millrace.cli.text.Table;
import dev.millrace.graph.OpRegistry;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.tensor.DType;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Sums up a graph: its inputs, variables, ops and devices, and what cannot run here. */
@Command(
    name = "graph",
    description = "Sum up a GraphDef, a MetaGraph or a SavedModel.",
    footer = {
      "",
      "Examples:",
      "  millrace graph logs",
      "  millrace graph logs/graph.pbtxt",
      "  millrace graph logs/model.ckpt-3000.meta --json",
    })
public final class GraphCommand implements Callable<Integer> {
  private static final Set<String> VARIABLES = Set.of("Variable", "VariableV2", "VarHandleOp");

  @Mixin CommandOutput report;

  @Parameters(
      paramLabel = "FILE",
      description =
          "The file, binary or (*.pbtxt) text, or the folder of a SavedModel or a training.")
  Path file;

  @Override
  public Integer call() {
    GraphDef graph = GraphFile.read(file);
    List<NodeDef> all = new ArrayList<>(graph.getNodeList());
    graph.getLibrary().getFunctionList().forEach(f -> all.addAll(f.getNodeDefList()));
    List<NodeDef> inputs = ofOps(graph, Set.of("Placeholder", "PlaceholderWithDefault"));
    List<NodeDef> variables = ofOps(graph, VARIABLES);
    Map<String, Long> ops = count(all, NodeDef::getOp);
    Map<String, Long> devices = count(all, n -> n.getDevice().isEmpty() ? "(any)" : n.getDevice());
    List<String> unknown = unknown(graph, ops.keySet());
    long parameters = variables.stream().mapToLong(GraphCommand::elements).filter(n -> n > 0).sum();
    if (report.json) {
      Map<String, Object> f = new LinkedHashMap<>();
      f.put("nodes", graph.getNodeCount());
      f.put("functions", graph.getLibrary().getFunctionCount());
      f.put("inputs", inputs.stream().map(GraphCommand::facts).toList());
      f.put("variables", variables.stream().map(GraphCommand::facts).toList());
      f.put("parameters", parameters);
      f.put("ops", ops);
      f.put("devices", devices);
      f.put("unknownOps", unknown);
      report.json(f);
      return 0;
    }
    PrintWriter out = report.out();
    out.printf(
        Locale.ROOT,
        "%d nodes, %d functions, %d variables with %,d elements%n",
        graph.getNodeCount(),
        graph.getLibrary().getFunctionCount(),
        variables.size(),
        parameters);
    section(out, "inputs", inputs);
    section(out, "variables", variables);
    counts(out, "op", ops);
    counts(out, "device", devices);
    out.println();
    out.println(
        unknown.isEmpty()
            ? "Millrace has every op in it."
            : "Millrace does not have these ops: " + String.join(", ", unknown));
    return 0;
  }

  private static List<NodeDef> ofOps(GraphDef graph, Set<String> ops) {
    return graph.getNodeList().stream().filter(n -> ops.contains(n.getOp())).toList();
  }

  /** How often each key occurs, the most frequent first. */
  private static Map<String, Long> count(
      List<NodeDef> nodes, java.util.function.Function<NodeDef, String> key) {
    Map<String, Long> counts =
        nodes.stream().collect(Collectors.groupingBy(key, TreeMap::new, Collectors.counting()));
    Map<String, Long> sorted = new LinkedHashMap<>();
    counts.entrySet().stream()
        .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))
        .forEach(e -> sorted.put(e.getKey(), e.getValue()));
    return sorted;
  }

  private static List<String> unknown(GraphDef graph, Set<String> ops) {
    OpRegistry registry = StandardOps.registry();
    Set<String> functions =
        graph.getLibrary().getFunctionList().stream()
            .map(f -> f.getSignature().getName())
            .collect(Collectors.toSet());
    return ops.stream()
        .filter(o -> registry.find(o) == null && !functions.contains(o))
        .sorted()
        .toList();
  }

  private static void section(PrintWriter out, String title, List<NodeDef> nodes) {
    if (nodes.isEmpty()) {
      return;
    }
    out.println();
    Table t = new Table(title, "type", "shape", "device");
    nodes.forEach(n -> t.row(n.getName(), type(n), shape(n), n.getDevice()));
    t.print(out);
  }

  private static void counts(PrintWriter out, String title, Map<String, Long> counts) {
    out.println();
    Table t = new Table(title, "nodes");
    counts.forEach(t::row);
    t.print(out);
  }

  private static Map<String, Object> facts(NodeDef n) {
    Map<String, Object> f = new LinkedHashMap<>();
    f.put("name", n.getName());
    f.put("type", type(n));
    f.put("shape", shape(n));
    f.put("device", n.getDevice());
    return f;
  }

  private static String type(NodeDef n) {
    int number =
        n.getAttrOrDefault("dtype", dev.millrace.proto.AttrValue.getDefaultInstance())
            .getTypeValue();
    return number == 0 ? "?" : DType.of(number).toString();
  }

  private static TensorShapeProto shapeOf(NodeDef n) {
    return n.containsAttr("shape") ? n.getAttrOrThrow("shape").getShape() : null;
  }

  private static String shape(NodeDef n) {
    TensorShapeProto s = shapeOf(n);
    return s == null || s.getUnknownRank()
        ? "?"
        : s.getDimList().stream()
            .map(d -> d.getSize() < 0 ? "?" : Long.toString(d.getSize()))
            .collect(Collectors.joining(", ", "[", "]"));
  }

  private static long elements(NodeDef n) {
    TensorShapeProto s = shapeOf(n);
    return s == null || s.getUnknownRank()
        ? -1
        : s.getDimList().stream()
            .mapToLong(TensorShapeProto.Dim::getSize)
            .reduce(1, (a, b) -> a * b);
  }
}
