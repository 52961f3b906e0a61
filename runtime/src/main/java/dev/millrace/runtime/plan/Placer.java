package dev.millrace.runtime.plan;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.runtime.device.Device;
import dev.millrace.tensor.DType;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Gives every node of a graph one of the devices, by TensorFlow's rules: nodes joined by a
 * reference, a resource or a {@code _class} attribute share a device; a device matches what all
 * members of the group ask for, but who takes a reference or a resource goes where that is,
 * whatever it asks for; among several the first CPU by name is taken, else the first device that
 * has kernels for the group; constants and the like go to their consumers, questions about a shape
 * to the tensor asked about.
 */
public final class Placer {
  private static final Set<String> METADATA = Set.of("Shape", "Size", "Rank");

  private final List<Device> devices;
  private final boolean soft;

  /** Union-find over node ids. */
  private int[] parent;

  private final Map<Integer, DeviceSpec> wish = new HashMap<>();

  /** The devices requested by the nodes of a group that make its references and resources. */
  private final Map<Integer, DeviceSpec> held = new HashMap<>();

  /** The ops of a group, all of which its device must support. */
  private final Map<Integer, Set<Op>> ops = new HashMap<>();

  private final Map<Node, String> placed = new HashMap<>();

  private Placer(List<Device> devices, boolean soft) {
    // CPUs first: only what requests another kind of device goes there.
    this.devices =
        devices.stream()
            .sorted(Comparator.comparing((Device d) -> !d.isHost()).thenComparing(Device::name))
            .toList();
    this.soft = soft;
  }

  /**
   * The full device name of every node.
   *
   * @param soft whether a device type or number that does not exist may be replaced
   * @param fixed nodes placed before, which keep their device
   */
  public static Map<Node, String> place(
      Graph graph, List<Device> devices, boolean soft, Map<Node, String> fixed) {
    return new Placer(devices, soft).place(graph, fixed);
  }

  private Map<Node, String> place(Graph graph, Map<Node, String> fixed) {
    List<Node> nodes = graph.nodes();
    parent = new int[nodes.size()];
    for (Node n : nodes) {
      parent[n.id()] = n.id();
      wish.put(n.id(), wishOf(n));
      boolean follows = n.inputs().stream().anyMatch(in -> bindsTogether(n, in));
      held.put(n.id(), follows ? DeviceSpec.ANY : wish.get(n.id()));
    }
    for (Node n : nodes) {
      for (Output in : n.inputs()) {
        if (bindsTogether(n, in)) {
          follow(n, in.node());
        }
      }
    }
    for (Node n : nodes) {
      for (String name : n.colocations()) {
        Node other = graph.find(name);
        if (other == null) {
          throw MillraceException.invalid(
              "Node '%s' expects to be colocated with unknown node '%s'", n.name(), name);
        }
        join(n, other);
      }
    }
    for (Node n : nodes) {
      ops.computeIfAbsent(root(n.id()), k -> new HashSet<>()).add(n.op());
    }
    for (Node n : nodes) {
      String before = fixed.get(n);
      if (before != null) {
        placed.put(n, before);
        wish.merge(root(n.id()), DeviceSpec.parse(before), (a, b) -> b.over(a));
      }
    }
    Map<Node, List<Node>> consumers = consumers(nodes);
    for (Node n : nodes) {
      if (!placed.containsKey(n) && !isGenerator(n)) {
        placed.put(n, choose(n, hintFor(n)));
      }
    }
    for (Node n : nodes) {
      if (!placed.containsKey(n)) {
        placed.put(n, choose(n, sharedDevice(consumers.get(n))));
      }
    }
    return placed;
  }

  private DeviceSpec wishOf(Node n) {
    try {
      return DeviceSpec.parse(n.device());
    } catch (MillraceException e) {
      throw e.withMessage("Node '" + n.name() + "': " + e.getMessage());
    }
  }

  /** A reference or a resource cannot leave its device. */
  private static boolean bindsTogether(Node n, Output in) {
    if (in.dtype() == DType.RESOURCE) {
      return true;
    }
    if (!in.isRef()) {
      return false;
    }
    List<Op.TypedArg> types = n.op().inputTypes(n.attrs());
    for (int i = 0; i < n.inputCount(); i++) {
      if (n.input(i) == in && types.get(i).isRef()) {
        return true;
      }
    }
    return false;
  }

  private int root(int id) {
    while (parent[id] != id) {
      parent[id] = parent[parent[id]];
      id = parent[id];
    }
    return id;
  }

  /** Joins {@code n} to the node that makes a reference or a resource it takes. */
  private void follow(Node n, Node maker) {
    DeviceSpec asked = wish.get(root(n.id()));
    DeviceSpec given = wish.get(root(maker.id()));
    DeviceSpec both = asked.intersect(given, soft);
    if (both == null && held.get(root(n.id())).intersect(given, soft) != null) {
      both = given;
    }
    join(n, maker, both);
  }

  private void join(Node a, Node b) {
    join(a, b, wish.get(root(a.id())).intersect(wish.get(root(b.id())), soft));
  }

  /** Joins the groups of two nodes, which then request {@code both}; null if they conflict. */
  private void join(Node a, Node b, DeviceSpec both) {
    int x = root(a.id());
    int y = root(b.id());
    if (x == y) {
      return;
    }
    DeviceSpec heldByBoth = held.get(x).intersect(held.get(y), soft);
    if (both == null || heldByBoth == null) {
      throw MillraceException.invalid(
          "Cannot colocate nodes {{colocation_node %s}} and {{colocation_node %s}}: Cannot merge"
              + " devices with incompatible specifications: '%s' and '%s'",
          a.name(), b.name(), wish.get(x), wish.get(y));
    }
    int low = Math.min(x, y);
    int high = Math.max(x, y);
    parent[high] = low;
    wish.put(low, both);
    held.put(low, heldByBoth);
  }

  /** No inputs, one output that is a value: better made where it is used. */
  private static boolean isGenerator(Node n) {
    return n.inputCount() == 0 && n.outputCount() == 1 && !n.output(0).isRef();
  }

  private String hintFor(Node n) {
    return METADATA.contains(n.op().name()) ? placed.get(n.input(0).node()) : null;
  }

  private String sharedDevice(List<Node> consumers) {
    Set<String> at = new HashSet<>();
    for (Node c : consumers) {
      at.add(placed.get(c));
    }
    return at.size() == 1 ? at.iterator().next() : null;
  }

  private static Map<Node, List<Node>> consumers(List<Node> nodes) {
    Map<Node, List<Node>> map = new HashMap<>();
    for (Node n : nodes) {
      map.computeIfAbsent(n, k -> new java.util.ArrayList<>());
      for (Output in : n.inputs()) {
        map.computeIfAbsent(in.node(), k -> new java.util.ArrayList<>()).add(n);
      }
    }
    return map;
  }

  /** The first device by name that the node's group may have, or the hint if that is one. */
  private String choose(Node n, String hint) {
    int group = root(n.id());
    DeviceSpec spec = wish.get(group);
    List<Device> candidates = supporting(group, matching(spec));
    if (candidates.isEmpty() && soft) {
      candidates = supporting(group, matching(spec.withoutDevice()));
    }
    if (candidates.isEmpty() && !matching(spec).isEmpty()) {
      throw MillraceException.invalid(
          "Cannot assign a device for operation %s: Could not satisfy explicit device specification"
              + " '%s' because no supported kernel for %s devices is available: %s. Place the node"
              + " on a CPU, or allow soft placement.",
          n.name(), spec, matching(spec).getFirst().spec().type(), unsupported(group, spec));
    }
    if (candidates.isEmpty()) {
      throw MillraceException.invalid(
          "Cannot assign a device for operation %s: {{node %s}} was explicitly assigned to %s but"
              + " available devices are [ %s ]. Make sure the device specification refers to a"
              + " valid device.",
          n.name(),
          n.name(),
          spec,
          devices.stream().map(Device::name).collect(Collectors.joining(", ")));
    }
    if (hint != null) {
      for (Device d : candidates) {
        if (d.name().equals(hint)) {
          return hint;
        }
      }
    }
    return candidates.getFirst().name();
  }

  private List<Device> supporting(int group, List<Device> some) {
    return some.stream().filter(d -> ops.get(group).stream().allMatch(d::supports)).toList();
  }

  /** The ops of a group that none of its devices has a kernel for. */
  private List<String> unsupported(int group, DeviceSpec spec) {
    return ops.get(group).stream()
        .filter(op -> matching(spec).stream().noneMatch(d -> d.supports(op)))
        .map(Op::name)
        .sorted()
        .toList();
  }

  private List<Device> matching(DeviceSpec spec) {
    return devices.stream().filter(d -> spec.matches(d.spec())).toList();
  }
}
