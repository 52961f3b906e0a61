package dev.millrace.graph;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Preconditions;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.graph.name.Names;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The context for adding nodes to a graph: a name prefix, a device, control inputs and colocation.
 * A scope is an immutable value; the {@code with...} methods return a changed copy.
 */
public final class Scope {
  /** Chooses a device for a node about to be added, as {@code tf.device(function)} does. */
  @FunctionalInterface
  public interface DeviceFunction {
    /** The device spec for this node, merged under what the node asks for itself. */
    String deviceFor(NodeBuilder node);
  }

  private final Graph graph;
  private final String prefix;
  private final String nodeName;
  private final DeviceSpec device;
  private final DeviceFunction deviceFunction;
  private final List<Node> controls;

  /** Names of nodes to be placed with; they need not exist yet. */
  private final List<String> colocated;

  /** The device that colocation brings along; empty if none. */
  private final String colocatedDevice;

  /** Replaces the values that nodes use. */
  private final UnaryOperator<Output> stand;

  private Scope(
      Graph graph,
      String prefix,
      String nodeName,
      DeviceSpec device,
      DeviceFunction deviceFunction,
      List<Node> controls,
      List<String> colocated,
      String colocatedDevice,
      UnaryOperator<Output> stand) {
    this.graph = graph;
    this.prefix = prefix;
    this.nodeName = nodeName;
    this.device = device;
    this.deviceFunction = deviceFunction;
    this.controls = controls;
    this.colocated = colocated;
    this.colocatedDevice = colocatedDevice;
    this.stand = stand;
  }

  /** The outermost scope of a graph. */
  public static Scope of(Graph graph) {
    Preconditions.value(graph, "The graph of a scope");
    return new Scope(
        graph, "", null, DeviceSpec.ANY, null, List.of(), List.of(), "", UnaryOperator.identity());
  }

  /** The graph that nodes are added to. */
  public Graph graph() {
    return graph;
  }

  /** The names of nodes added here begin with this: empty, or ending in a slash. */
  public String prefix() {
    return prefix;
  }

  /** A scope whose nodes' names begin with {@code name/}, made unique if that is taken. */
  public Scope withSubScope(String name) {
    String p = graph.uniqueName(prefix + name, true) + "/";
    return new Scope(
        graph, p, null, device, deviceFunction, controls, colocated, colocatedDevice, stand);
  }

  /**
   * A scope whose nodes' names begin with exactly {@code exactPrefix}, also if it was used before.
   */
  public Scope reopened(String exactPrefix) {
    return new Scope(
        graph,
        exactPrefix,
        null,
        device,
        deviceFunction,
        controls,
        colocated,
        colocatedDevice,
        stand);
  }

  /** The next nodes are called {@code name} instead of after their op. */
  public Scope withName(String name) {
    return new Scope(
        graph, prefix, name, device, deviceFunction, controls, colocated, colocatedDevice, stand);
  }

  /**
   * The next node gets the name of this scope: its prefix without the slash. TensorFlow names the
   * result of a group of nodes, such as a train op, this way.
   */
  public Scope asNode() {
    return new Scope(
        graph, prefix, "", device, deviceFunction, controls, colocated, colocatedDevice, stand);
  }

  /** Nodes ask for this device; parts left open come from the scopes around. Null clears all. */
  public Scope withDevice(String spec) {
    DeviceSpec d = spec == null ? DeviceSpec.ANY : DeviceSpec.parse(spec).over(device);
    DeviceFunction f = spec == null ? null : deviceFunction;
    return new Scope(graph, prefix, nodeName, d, f, controls, colocated, colocatedDevice, stand);
  }

  /** Nodes request the device that the function returns, merged with what this scope has set. */
  public Scope withDevice(DeviceFunction function) {
    DeviceFunction outer = deviceFunction;
    DeviceFunction f =
        outer == null
            ? function
            : node ->
                DeviceSpec.parse(function.deviceFor(node))
                    .over(DeviceSpec.parse(outer.deviceFor(node)))
                    .toString();
    return new Scope(
        graph, prefix, nodeName, device, f, controls, colocated, colocatedDevice, stand);
  }

  /** Nodes run only after these, in addition to those of the scopes around. */
  public Scope withControlInputs(List<Node> nodes) {
    List<Node> all = new ArrayList<>(controls);
    Preconditions.all(nodes, "control inputs").stream()
        .filter(n -> !all.contains(n))
        .forEach(all::add);
    return new Scope(
        graph,
        prefix,
        nodeName,
        device,
        deviceFunction,
        List.copyOf(all),
        colocated,
        colocatedDevice,
        stand);
  }

  /** Nodes added by the result run only after {@code nodes}. */
  public Scope withControlInputs(Node... nodes) {
    return withControlInputs(Arrays.asList(nodes));
  }

  /** Nodes run without waiting for the control inputs of the scopes around. */
  public Scope withoutControlInputs() {
    return new Scope(
        graph,
        prefix,
        nodeName,
        device,
        deviceFunction,
        List.of(),
        colocated,
        colocatedDevice,
        stand);
  }

  /** Nodes are placed where {@code node} is; if that follows others, with those. */
  public Scope colocatedWith(Node node) {
    List<String> groups = Preconditions.value(node, "The node to be placed with").colocations();
    return colocated(groups.isEmpty() ? List.of(node.name()) : groups, node.device());
  }

  /** Nodes are placed where the node of this name will be, which need not exist yet. */
  public Scope colocatedWith(String node) {
    return colocated(List.of(node), "");
  }

  private Scope colocated(List<String> with, String on) {
    return new Scope(graph, prefix, nodeName, device, deviceFunction, controls, with, on, stand);
  }

  /** Nodes are placed without colocation. */
  public Scope withoutColocation() {
    return colocated(List.of(), "");
  }

  /** Whether nodes are placed where others are. */
  public boolean isColocated() {
    return !colocated.isEmpty();
  }

  /**
   * Nodes use {@code stand} of a value instead of the value. Loops and branches capture outside
   * values this way. Replaces the function of the enclosing scopes.
   */
  public Scope withStandIns(UnaryOperator<Output> stand) {
    return new Scope(
        graph,
        prefix,
        nodeName,
        device,
        deviceFunction,
        controls,
        colocated,
        colocatedDevice,
        stand);
  }

  /** What nodes added here use in place of {@code value}. */
  public Output standIn(Output value) {
    return stand.apply(value);
  }

  /** Starts a node of the op with this name. */
  public NodeBuilder node(String op) {
    return new NodeBuilder(
        this,
        graph
            .registry()
            .get(Preconditions.value(op, "The name of an op"), nodeName == null ? op : nodeName));
  }

  /** Starts a node of this op. */
  public NodeBuilder node(Op op) {
    return new NodeBuilder(this, Preconditions.value(op, "The op of a node"));
  }

  /** Adds a node whose inputs are single outputs and whose attributes follow from them. */
  public Node add(Op op, Output... inputs) {
    NodeBuilder b = node(op);
    for (Output in : inputs) {
      b.input(in);
    }
    return b.add();
  }

  /** What a node of this op is called here if the name is free. */
  String wantedName(Op op) {
    return prefix + (nodeName == null ? op.name() : nodeName);
  }

  String nameFor(Op op) {
    if (nodeName != null && nodeName.isEmpty() && !prefix.isEmpty()) {
      return prefix.substring(0, prefix.length() - 1);
    }
    String wanted = wantedName(op);
    if (!Names.isValid(wanted) && !op.name().startsWith("_")) {
      throw MillraceException.invalid(
          "'%s' cannot name a node: it must begin with a letter, digit or dot, and go on with"
              + " those or one of _ - / >.",
          wanted);
    }
    return graph.uniqueName(wanted, true);
  }

  List<Node> controls() {
    return controls;
  }

  List<String> colocated() {
    return colocated;
  }

  /** What the scopes around ask for by name, before any function is asked. */
  DeviceSpec device() {
    return device;
  }

  /** The device for a node with this much of its own: a colocated node follows the other. */
  String deviceFor(NodeBuilder node) {
    DeviceSpec d = device;
    if (deviceFunction != null) {
      d = d.over(DeviceSpec.parse(deviceFunction.deviceFor(node)));
    }
    return colocatedDevice.isEmpty() ? d.toString() : colocatedDevice;
  }
}
