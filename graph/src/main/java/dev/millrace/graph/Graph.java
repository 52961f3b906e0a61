package dev.millrace.graph;

import dev.millrace.base.Closest;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Preconditions;
import dev.millrace.tensor.Shape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A dataflow graph: nodes in the order in which they were added, each with a unique name. A graph
 * grows; only an addition that failed midway is taken back. Mistakes in a node (unknown op, wrong
 * types, impossible shapes) surface when it is added.
 *
 * <p>Threading: adding nodes and reading them may happen on different threads; a reader sees the
 * nodes added before {@link #nodes} was called.
 */
public final class Graph {
  private final OpRegistry registry;
  private final List<Node> nodes = new ArrayList<>();
  private final Map<String, Node> byName = new HashMap<>();

  /** Used names in lower case, as in TensorFlow, with the next suffix to try. */
  private final Map<String, Integer> names = new HashMap<>();

  /** Outputs that replace those of a lowered node, by the name of the node. */
  private final Map<String, List<Output>> lent = new HashMap<>();

  private final Map<String, List<Object>> collections = new HashMap<>();
  private long seed;
  private boolean seeded;

  /** An empty graph of ops from {@code registry}. */
  public Graph(OpRegistry registry) {
    this.registry = registry;
  }

  /** The ops that nodes may be of. */
  public OpRegistry registry() {
    return registry;
  }

  /** The nodes so far, oldest first. */
  public synchronized List<Node> nodes() {
    return Collections.unmodifiableList(new ArrayList<>(nodes));
  }

  /** How many nodes there are. */
  public synchronized int size() {
    return nodes.size();
  }

  /** The node with this name, or null. */
  public synchronized Node find(String name) {
    return byName.get(name);
  }

  /** The node with this name. If there is none, the error suggests the closest name. */
  public Node node(String name) {
    Node n = find(Preconditions.value(name, "The name of a node"));
    if (n == null) {
      throw new MillraceException(
          dev.millrace.base.Code.NOT_FOUND,
          "There is no node '"
              + name
              + "' in the graph ("
              + size()
              + " nodes)."
              + Closest.hint(name, nodes().stream().map(Node::name).toList()));
    }
    return n;
  }

  /** The output with this name, {@code node:index} or just {@code node} for output 0. */
  public Output output(String name) {
    int colon = Preconditions.value(name, "The name of an output").lastIndexOf(':');
    if (colon < 0) {
      return output(name, 0);
    }
    try {
      return output(name.substring(0, colon), Integer.parseInt(name.substring(colon + 1)));
    } catch (NumberFormatException e) {
      throw MillraceException.invalid(
          "'%s' is not the name of an output; those read node:index, such as 'loss:0'.", name);
    }
  }

  /** Output {@code index} of the node with this name, or the output that replaced it. */
  public Output output(String node, int index) {
    List<Output> outputs;
    synchronized (this) {
      outputs = lent.get(node);
    }
    if (outputs == null) {
      return node(node).output(index);
    }
    if (index < 0 || index >= outputs.size()) {
      throw MillraceException.invalid(
          "Connecting to invalid output %d of source node %s which has %d outputs. Try using"
              + " tf.compat.v1.experimental.output_all_intermediates(True).",
          index, node, outputs.size());
    }
    return outputs.get(index);
  }

  /**
   * Maps the output names of a node to outputs of other nodes. A call that was replaced by the
   * nodes of its function keeps its name and the names of its results this way.
   */
  public synchronized void lend(String node, List<Output> outputs) {
    lent.put(node, List.copyOf(outputs));
  }

  /** The list of a collection, such as the trainable variables; created on first use. */
  public synchronized List<Object> collection(String key) {
    return collections.computeIfAbsent(key, k -> new ArrayList<>());
  }

  /** Sets the graph's random seed, from which ops without their own seed derive one. */
  public synchronized void setSeed(long seed) {
    this.seed = seed;
    this.seeded = true;
  }

  /** Whether {@link #setSeed} was called. */
  public synchronized boolean hasSeed() {
    return seeded;
  }

  /** The seed of the whole graph; 0 unless set. */
  public synchronized long seed() {
    return seed;
  }

  /** A name no node has: {@code wanted} itself or with the first free suffix {@code _1, _2, ...} */
  synchronized String uniqueName(String wanted, boolean mark) {
    String key = wanted.toLowerCase(java.util.Locale.ROOT);
    Integer next = names.get(key);
    if (next == null) {
      if (mark) {
        names.put(key, 1);
      }
      return wanted;
    }
    int i = next;
    String candidate = wanted + "_" + i;
    while (names.containsKey(candidate.toLowerCase(java.util.Locale.ROOT))) {
      candidate = wanted + "_" + ++i;
    }
    if (mark) {
      names.put(key, i + 1);
      names.put(candidate.toLowerCase(java.util.Locale.ROOT), 1);
    }
    return candidate;
  }

  /**
   * Adds a node. {@code attrs} holds what was given or derived; defaults are filled in here, types
   * are checked and shapes inferred. Inputs may be null where {@link #connectBackEdge} will follow.
   */
  public synchronized Node add(
      String name,
      Op op,
      String device,
      Map<String, AttrValue> attrs,
      List<Output> inputs,
      List<Node> controlInputs) {
    if (byName.containsKey(name)) {
      throw MillraceException.invalid(
          "There is a node '%s' already (%s); node names are unique.", name, byName.get(name));
    }
    for (Output in : inputs) {
      checkMine(in == null ? null : in.node(), name, op);
    }
    controlInputs.forEach(c -> checkMine(c, name, op));
    Map<String, AttrValue> complete = op.complete(name, attrs);
    op.checkInputs(name, complete, inputs);
    Node node = new Node(this, nodes.size(), name, op, device, complete, inputs, controlInputs);
    if (inputs.stream().noneMatch(java.util.Objects::isNull)) {
      inferShapes(node);
    }
    nodes.add(node);
    byName.put(name, node);
    names.putIfAbsent(name.toLowerCase(java.util.Locale.ROOT), 1);
    return node;
  }

  /**
   * Takes back all nodes but the first {@code size}: for whoever adds several nodes, fails midway,
   * and wants to leave the graph as it was. Nobody else may use the nodes that go.
   */
  public synchronized void truncate(int size) {
    while (nodes.size() > size) {
      byName.remove(nodes.removeLast().name());
    }
    lent.values().removeIf(outputs -> outputs.stream().anyMatch(o -> o.node().id() >= size));
  }

  private void checkMine(Node input, String name, Op op) {
    if (input != null && input.graph() != this) {
      throw MillraceException.invalid(
          "%s '%s': its input '%s' belongs to another graph. Build both with scopes of one graph.",
          op.name(), name, input.name());
    }
  }

  /** Connects the back edge of a loop, left open (null) when {@code node} was added. */
  public synchronized void connectBackEdge(Node node, int input, Output source) {
    if (node.input(input) != null) {
      throw MillraceException.invalid("Input %d of '%s' is connected already.", input, node.name());
    }
    if (source.node().op().role() != Op.Role.NEXT_ITERATION) {
      throw MillraceException.invalid(
          "An edge from '%s' back into '%s' would be a cycle; only NextIteration may lead back.",
          source.name(), node.name());
    }
    if (source.dtype() != node.output(0).dtype()) {
      throw MillraceException.invalid(
          "The back edge from '%s' into '%s' is %s; the loop variable is %s.",
          source.name(), node.name(), source.dtype(), node.output(0).dtype());
    }
    node.connectBackEdge(input, source);
  }

  private void inferShapes(Node node) {
    List<Shape> shapes;
    try {
      shapes = node.op().shapes(new ShapeContext(node));
    } catch (MillraceException e) {
      throw e.withMessage(
          "%s '%s': %s%s Its inputs are %s."
              .formatted(
                  node.op().name(),
                  node.name(),
                  e.getMessage(),
                  e.getMessage().endsWith(".") ? "" : ".",
                  node.inputs()));
    } catch (ArithmeticException e) {
      throw MillraceException.invalid(
          "%s '%s': a size is too large: the shapes of its inputs are %s.",
          node.op().name(), node.name(), node.inputs());
    }
    if (shapes.size() != node.outputCount()) {
      throw MillraceException.invalid(
          "%s '%s' has %d outputs, but its attributes tell the shapes of %d.",
          node.op().name(), node.name(), node.outputCount(), shapes.size());
    }
    for (int i = 0; i < shapes.size(); i++) {
      node.output(i).refineShape(shapes.get(i));
    }
  }
}
