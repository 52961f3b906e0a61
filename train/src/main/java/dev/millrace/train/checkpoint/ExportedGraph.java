package dev.millrace.train.checkpoint;

import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.NoOp;
import dev.millrace.train.graph.GraphKeys;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A copy of the part of a graph that computes some outputs, for others to run: without devices, and
 * with resource variables in place of reference variables, as TensorFlow 2 has them. Nodes keep
 * their names.
 */
final class ExportedGraph {
  /** Ops that read a reference and have a counterpart that reads a resource. */
  private static final Set<String> READS = Set.of("Identity", "Gather", "GatherV2");

  private static final Set<String> TABLES = Set.of("HashTable", "HashTableV2");

  private final Graph source;
  private final Graph copy;
  private final Map<Node, Node> copies = new HashMap<>();

  /** The handles of variables that were references, by these. */
  private final Map<Output, Output> handles = new HashMap<>();

  /** The reads that stand for these references where a value is asked for. */
  private final Map<Output, Output> reads = new HashMap<>();

  private final Map<GraphVariable, GraphVariable> variables = new LinkedHashMap<>();
  private final List<Node> tableInitializers = new ArrayList<>();

  private ExportedGraph(Graph source) {
    this.source = source;
    copy = new Graph(source.registry());
  }

  /** Copies what {@code outputs} need, the variables' initial values and what fills the tables. */
  static ExportedGraph of(Graph source, Collection<Output> outputs) {
    ExportedGraph g = new ExportedGraph(source);
    g.copy(outputs);
    return g;
  }

  /** The copy. */
  Graph graph() {
    return copy;
  }

  /** The variables that the outputs need: those of the source, and of the copy. */
  Map<GraphVariable, GraphVariable> variables() {
    return variables;
  }

  /** The nodes of the copy that fill its tables. */
  List<Node> tableInitializers() {
    return tableInitializers;
  }

  /** An output in the copy. */
  Output output(Output o) {
    Output read = handles.containsKey(o) ? read(o) : null;
    return read != null ? read : copies.get(o.node()).output(o.index());
  }

  private void copy(Collection<Output> outputs) {
    Set<Node> computing = behind(outputs.stream().map(Output::node).toList());
    List<GraphVariable> used =
        Variables.global(source).stream().filter(v -> computing.contains(v.node())).toList();
    List<Node> fillers =
        source.nodes().stream()
            .filter(n -> fillsTable(n) && computing.contains(n.input(0).node()))
            .toList();
    Set<Node> needed = new HashSet<>(computing);
    needed.addAll(behind(fillers));
    for (GraphVariable v : used) {
      needed.addAll(behind(List.of(v.initialValue().node(), v.read().node())));
    }
    Set<Node> references = new HashSet<>();
    used.stream().filter(v -> !v.isResource()).map(GraphVariable::node).forEach(references::add);
    needed.forEach(n -> references.removeAll(changed(n)));
    addNodes(needed, references);
    used.forEach(this::addVariable);
    fillers.forEach(f -> tableInitializers.add(copies.get(f)));
  }

  /** Whether a node fills a table, its input 0. */
  private static boolean fillsTable(Node n) {
    return (n.op().name().startsWith("InitializeTable")
            || n.op().name().startsWith("LookupTableImport"))
        && TABLES.contains(n.input(0).node().op().name());
  }

  /** The nodes that have to run for these. */
  private static Set<Node> behind(Collection<Node> roots) {
    Set<Node> found = new HashSet<>(roots);
    Deque<Node> open = new ArrayDeque<>(roots);
    while (!open.isEmpty()) {
      Node n = open.pop();
      n.inputs().stream().map(Output::node).filter(found::add).forEach(open::push);
      n.controlInputs().stream().filter(found::add).forEach(open::push);
    }
    return found;
  }

  /** The nodes that give what {@code n} takes by reference: it may change them. */
  private static List<Node> changed(Node n) {
    List<Node> changed = new ArrayList<>();
    List<Op.TypedArg> types = n.op().inputTypes(n.attrs());
    for (int i = 0; i < n.inputCount(); i++) {
      if (types.get(i).isRef()) {
        changed.add(n.input(i).node());
      }
    }
    return changed;
  }

  /** Copies nodes in their order of creation; a loop's back edges are connected at the end. */
  private void addNodes(Set<Node> needed, Set<Node> references) {
    record BackEdge(Node node, int input, Output source) {}
    List<BackEdge> backEdges = new ArrayList<>();
    for (Node n : source.nodes()) {
      if (!needed.contains(n)) {
        continue;
      }
      if (references.contains(n)) {
        addHandle(n);
        continue;
      }
      List<Node> controls =
          n.controlInputs().stream().map(copies::get).filter(c -> c != null).distinct().toList();
      Output reference = READS.contains(n.op().name()) ? reference(n) : null;
      if (reference != null) {
        Node read = addRead(n, reference, controls);
        if (read != null) {
          copies.put(n, read);
          continue;
        }
      }
      List<Output> inputs = new ArrayList<>();
      for (int i = 0; i < n.inputCount(); i++) {
        Output in = n.input(i);
        if (handles.containsKey(in)) {
          inputs.add(read(in));
        } else if (copies.containsKey(in.node())) {
          inputs.add(copies.get(in.node()).output(in.index()));
        } else {
          backEdges.add(new BackEdge(n, i, in));
          inputs.add(null);
        }
      }
      Map<String, AttrValue> attrs = new LinkedHashMap<>(n.attrs());
      // Colocation may name nodes that are left out; without devices it says nothing.
      attrs.remove("_class");
      Node c = copy.add(n.name(), n.op(), "", attrs, inputs, controls);
      for (int i = 0; i < n.outputCount(); i++) {
        if (n.output(i).shape().isCompatibleWith(c.output(i).shape())) {
          c.output(i).refineShape(n.output(i).shape());
        }
      }
      copies.put(n, c);
    }
    for (BackEdge e : backEdges) {
      Node from = copies.get(e.source.node());
      copy.connectBackEdge(copies.get(e.node), e.input, from.output(e.source.index()));
    }
  }

  private Scope named(String name) {
    return Scope.of(copy).reopened(name + "/").asNode();
  }

  private void addHandle(Node n) {
    Node handle =
        named(n.name())
            .node("VarHandleOp")
            .attr("shared_name", n.name())
            .attr("dtype", n.output(0).dtype())
            .attr("shape", n.output(0).shape())
            .add();
    copies.put(n, handle);
    handles.put(n.output(0), handle.output());
  }

  /** The reference that a node reads, itself or out of the usual Identity; null for none. */
  private Output reference(Node n) {
    Output in = n.input(0);
    if (!n.op().name().equals("Identity") && in.node().op().name().equals("Identity")) {
      in = in.node().input(0);
    }
    return handles.containsKey(in) ? in : null;
  }

  /** The node that does for a resource what {@code n} does for a reference; null for none. */
  private Node addRead(Node n, Output ref, List<Node> controls) {
    Scope at = named(n.name()).withControlInputs(controls);
    if (n.op().name().equals("Identity")) {
      Node read =
          at.node("ReadVariableOp").input(handles.get(ref)).attr("dtype", ref.dtype()).add();
      read.output().refineShape(ref.shape());
      return read;
    }
    boolean rows =
        n.op().name().equals("Gather") || n.longAttr("batch_dims") == 0 && isZero(n.input(2));
    Output indices = n.input(1);
    if (!rows
        || indices.dtype() == dev.millrace.tensor.DType.INT16
        || handles.containsKey(indices)) {
      return null;
    }
    return at.node("ResourceGather")
        .input(handles.get(ref))
        .input(copies.get(indices.node()).output(indices.index()))
        .attr("dtype", ref.dtype())
        .add();
  }

  private static boolean isZero(Output axis) {
    return axis.node().op().name().equals("Const")
        && axis.node().tensorAttr("value").longAt(0) == 0;
  }

  /** The value of what was a reference. */
  private Output read(Output ref) {
    return reads.computeIfAbsent(
        ref,
        r -> {
          Output read =
              Scope.of(copy)
                  .reopened(r.node().name() + "/")
                  .withName("ReadVariableOp")
                  .node("ReadVariableOp")
                  .input(handles.get(r))
                  .attr("dtype", r.dtype())
                  .add()
                  .output();
          read.refineShape(r.shape());
          return read;
        });
  }

  private void addVariable(GraphVariable v) {
    Output handle = copies.get(v.node()).output();
    Output initial = output(v.initialValue());
    Node assign =
        Scope.of(copy)
            .reopened(v.name() + "/")
            .withName("Assign")
            .node(handles.containsKey(v.handle()) || v.isResource() ? "AssignVariableOp" : "Assign")
            .input(handle)
            .input(initial)
            .add();
    GraphVariable made =
        new GraphVariable(
            handle,
            output(v.read()),
            initial,
            assign,
            v.dtype(),
            v.shape(),
            v.trainable(),
            v.part());
    variables.put(v, made);
    copy.collection(GraphKeys.GLOBAL_VARIABLES).add(made);
    if (v.trainable()) {
      copy.collection(GraphKeys.TRAINABLE_VARIABLES).add(made);
    }
  }

  /** Adds a node that fills all tables. */
  Node fillTables() {
    return NoOp.group(Scope.of(copy).withName("init_all_tables"), tableInitializers);
  }
}
