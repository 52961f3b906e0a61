package dev.millrace.wire;

import dev.millrace.graph.Op;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.NodeDef;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Finds the control inputs that wait for the effects of a function body with branches and loops,
 * written as Switch and Merge. A node in a branch that is not taken never runs, and neither would a
 * node that waits for it. So waiting goes through a Merge with the other branch. The next iteration
 * of a loop waits for a node inside it, and the loop's Exit stands for all iterations.
 */
final class BodyEffects {
  /**
   * A branch, a loop, or what a loop does once its condition has held.
   *
   * @param predicate the edge that chooses the branch; null for a loop
   * @param frame the name of the loop; null for a branch
   * @param side 1 in the branch, or round, where the predicate is true
   */
  private record ControlRegion(
      @Nullable ControlRegion outer,
      @Nullable String predicate,
      @Nullable String frame,
      int side,
      int depth) {
    boolean isSame(ControlRegion other) {
      return side == other.side
          && Objects.equals(predicate, other.predicate)
          && Objects.equals(frame, other.frame);
    }

    /** The region around this one, which is not {@link #TOP}. */
    ControlRegion parent() {
      return Objects.requireNonNull(outer);
    }

    static ControlRegion shared(ControlRegion a, ControlRegion b) {
      while (!a.isSame(b)) {
        if (a.depth >= b.depth) {
          a = a.parent();
        } else {
          b = b.parent();
        }
      }
      return a;
    }

    ControlRegion loop() {
      ControlRegion p = this;
      while (p.outer != null && (p.frame == null || p.side == 1)) {
        p = p.outer;
      }
      return p;
    }
  }

  private static final ControlRegion TOP = new ControlRegion(null, null, null, -1, 0);

  private final FunctionBody body;
  private final String prefix;
  private final String device;
  private final Map<String, String> arguments;
  private final List<NodeDef> out;

  /** The nodes of the body, and the regions of their outputs except those of a Switch. */
  private final Map<String, NodeDef> nodes = new HashMap<>();

  private final Map<String, ControlRegion> regions = new HashMap<>();

  /**
   * The effects of one instance of a body.
   *
   * @param prefix the prefix of the names of its nodes
   * @param arguments the arguments by name
   * @param out contains its nodes; receives the added ones
   */
  BodyEffects(
      FunctionBody body,
      String prefix,
      String device,
      Map<String, String> arguments,
      List<NodeDef> out) {
    this.body = body;
    this.prefix = prefix;
    this.device = device;
    this.arguments = arguments;
    this.out = out;
  }

  /** The nodes to wait for, so that these nodes of the body have run or will never run. */
  List<String> of(List<String> effects) {
    List<String> after = new ArrayList<>();
    if (effects.isEmpty()) {
      return after;
    }
    boolean branches = false;
    for (NodeDef n : body.nodes()) {
      nodes.put(n.getName(), n);
      Op.Role role = body.role(n);
      branches |= role == Op.Role.SWITCH || role == Op.Role.ENTER;
    }
    if (branches) {
      findPlaces();
    }
    for (String e : effects) {
      ControlRegion region = regions.getOrDefault(e, TOP);
      String ran = prefix + e;
      while (region != TOP && ran != null) {
        ran = region.frame == null ? joined(ran, region) : endOf(ran, region);
        region = region.frame == null ? region.parent() : region.loop().parent();
      }
      if (ran != null && !after.contains(ran)) {
        after.add(ran);
      }
    }
    return after;
  }

  /** A node that runs after {@code ran}, or when the other branch is taken. */
  private String joined(String ran, ControlRegion branch) {
    String name = ran + "/_joined";
    String predicate = body.flat(Objects.requireNonNull(branch.predicate), prefix, arguments);
    add(name + "_way", "Switch", b -> b.addInput(predicate).addInput(predicate));
    add(name + "_here", "Identity", b -> b.addInput(way(name, branch.side)).addInput("^" + ran));
    add(
        name,
        "Merge",
        b ->
            b.addInput(name + "_here")
                .addInput(way(name, 1 - branch.side))
                .putAttr("N", AttrValue.newBuilder().setI(2).build()));
    return name;
  }

  private static String way(String name, int side) {
    return name + "_way:" + side;
  }

  private void add(String name, String op, Consumer<NodeDef.Builder> rest) {
    NodeDef.Builder b = NodeDef.newBuilder().setName(name).setOp(op).setDevice(device);
    b.putAttr("T", AttrValue.newBuilder().setType(DataType.DT_BOOL).build());
    rest.accept(b);
    out.add(b.build());
  }

  /**
   * Makes the next iteration of a loop wait for {@code ran}; returns a node that runs at its end.
   */
  private @Nullable String endOf(String ran, ControlRegion in) {
    ControlRegion loop = in.loop();
    String holds =
        in.side == 1 ? find(Op.Role.NEXT_ITERATION, loop) : find(Op.Role.LOOP_COND, loop);
    if (holds != null) {
      for (int i = out.size() - 1; i >= 0; i--) {
        if (out.get(i).getName().equals(prefix + holds)) {
          out.set(i, out.get(i).toBuilder().addInput("^" + ran).build());
          break;
        }
      }
    }
    String exit = find(Op.Role.EXIT, loop);
    return exit == null ? null : prefix + exit;
  }

  private @Nullable String find(Op.Role role, ControlRegion loop) {
    for (NodeDef n : body.nodes()) {
      if (body.role(n) == role && n.getInputCount() > 0) {
        ControlRegion p = regionOf(n.getInput(0)).loop();
        if (p != TOP && p.isSame(loop)) {
          return n.getName();
        }
      }
    }
    return null;
  }

  /** Follows the edges from nodes without inputs, except the back edges of loops. */
  private void findPlaces() {
    Map<String, Integer> pending = new HashMap<>();
    Map<String, List<NodeDef>> readers = new HashMap<>();
    Deque<NodeDef> ready = new ArrayDeque<>();
    for (NodeDef n : nodes.values()) {
      int count = 0;
      for (String in : n.getInputList()) {
        NodeDef source = nodes.get(sourceOf(in));
        if (source != null && !isBackEdge(n, source)) {
          readers.computeIfAbsent(source.getName(), k -> new ArrayList<>()).add(n);
          count++;
        }
      }
      pending.put(n.getName(), count);
      if (count == 0) {
        ready.add(n);
      }
    }
    while (!ready.isEmpty()) {
      NodeDef n = ready.poll();
      regions.put(n.getName(), regionOf(n));
      for (NodeDef r : readers.getOrDefault(n.getName(), List.of())) {
        if (pending.merge(r.getName(), -1, Integer::sum) == 0) {
          ready.add(r);
        }
      }
    }
  }

  private boolean isBackEdge(NodeDef n, NodeDef source) {
    return body.role(n) == Op.Role.MERGE && body.role(source) == Op.Role.NEXT_ITERATION;
  }

  private static String sourceOf(String edge) {
    String e = edge.startsWith("^") ? edge.substring(1) : edge;
    int colon = e.indexOf(':');
    return colon < 0 ? e : e.substring(0, colon);
  }

  private @Nullable ControlRegion regionOf(NodeDef n) {
    Op.Role role = body.role(n);
    ControlRegion at = null;
    for (String in : n.getInputList()) {
      NodeDef source = nodes.get(sourceOf(in));
      if (source != null && isBackEdge(n, source)) {
        continue;
      }
      ControlRegion p = regionOf(in);
      if (role == Op.Role.MERGE && !in.startsWith("^")) {
        at = at == null ? p : ControlRegion.shared(at, p);
      } else {
        at = at == null || p.depth > at.depth ? p : at;
      }
    }
    at = at == null ? TOP : at;
    return switch (role) {
      case ENTER -> {
        AttrValue frame = n.getAttrMap().get("frame_name");
        yield new ControlRegion(
            at, null, frame == null ? "" : frame.getS().toStringUtf8(), 0, at.depth + 1);
      }
      case EXIT -> at.loop() == TOP ? TOP : at.loop().outer;
      default -> at;
    };
  }

  /** The region in which the value of an edge is computed. */
  private ControlRegion regionOf(String edge) {
    NodeDef source = nodes.get(sourceOf(edge));
    ControlRegion at = source == null ? TOP : regions.getOrDefault(source.getName(), TOP);
    if (source == null
        || edge.startsWith("^")
        || body.role(source) != Op.Role.SWITCH
        || source.getInputCount() < 2) {
      return at;
    }
    String predicate = source.getInput(1);
    int side = edge.endsWith("output_true:0") ? 1 : 0;
    NodeDef chooser = nodes.get(sourceOf(predicate));
    if (chooser != null && body.role(chooser) == Op.Role.LOOP_COND) {
      return side == 0 ? at : new ControlRegion(at, null, at.loop().frame, 1, at.depth + 1);
    }
    return new ControlRegion(at, predicate, null, side, at.depth + 1);
  }
}
