package dev.millrace.runtime.plan;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Output;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What counts the rounds of a loop on each device that takes part in it. What is received within a
 * loop has to be received once per round, so it waits for a Merge on its own device that fires once
 * per round. Where the loop has a variable of its own on the device that is the variable's Merge;
 * else a control loop is added there, as TensorFlow does: a loop around nothing that goes on for as
 * long as the real one does, by the same condition.
 */
final class LoopStructure {
  /** TensorFlow knows control loops by this beginning of their nodes' names. */
  private static final String PREFIX = "_cloop";

  /** A loop on a device. */
  private record Place(int frame, String device) {}

  /** A control loop that is not closed yet: its way on follows once all nodes are there. */
  private record Open(int frame, Node merge, String name) {}

  private final LoopNest nest;
  private final OpRegistry registry;
  private final String suffix;
  private final Map<Place, Node> merges = new HashMap<>();
  private final Map<Place, Node> controlLoops = new HashMap<>();
  private final List<Open> open = new ArrayList<>();

  /** The condition of each loop, in the graph that is cut. */
  private final Map<Integer, Output> conditions = new HashMap<>();

  LoopStructure(List<Node> nodes, LoopNest nest, OpRegistry registry, String suffix) {
    this.nest = nest;
    this.registry = registry;
    this.suffix = suffix;
    if (nest.frames().size() == 1) {
      return;
    }
    for (Node n : nodes) {
      if (n.op().role() == Op.Role.LOOP_COND) {
        conditions.put(nest.frameOf(n), n.output(0));
      } else if (n.op().role() == Op.Role.SWITCH && isLoopVariable(n.input(0).node())) {
        // Where the condition itself is on another task.
        conditions.putIfAbsent(nest.frameOf(n), n.input(1));
      }
    }
  }

  private static boolean isLoopVariable(Node n) {
    return n.op().role() == Op.Role.MERGE
        && n.inputs().stream().anyMatch(in -> in.node().op().role() == Op.Role.NEXT_ITERATION);
  }

  /** Takes note that {@code source} has become {@code copy}. */
  void copied(Node source, Node copy) {
    if (isLoopVariable(source)) {
      Place at = new Place(nest.frameOf(source), copy.device());
      merges.putIfAbsent(at, copy);
      if (source.name().startsWith(PREFIX)) {
        controlLoops.putIfAbsent(at, copy);
      }
    }
  }

  /** The node of {@code part} that runs on {@code device} once in each round of a loop. */
  Node in(int frame, Graph part, String device) {
    Node merge = merges.get(new Place(frame, device));
    return merge != null ? merge : controlLoop(frame, part, device);
  }

  /** The same, and sure to be of a control loop: a TensorFlow worker looks for that. */
  Node controlLoop(int frame, Graph part, String device) {
    Place at = new Place(frame, device);
    Node known = controlLoops.get(at);
    if (known != null) {
      return known;
    }
    LoopNest.Frame loop = nest.frames().get(frame);
    List<Node> around = loop.parent() == 0 ? List.of() : List.of(in(loop.parent(), part, device));
    String name = PREFIX + "_" + loop.name() + "/_" + suffix + controlLoops.size();
    Map<String, AttrValue> value = new LinkedHashMap<>();
    value.put("value", AttrValue.of(Tensor.of(Shape.of(0), new float[0])));
    value.put("dtype", AttrValue.of(DType.FLOAT));
    Node start = add(part, name + "_c", "Const", device, value, List.of(), around);
    Map<String, AttrValue> into = typed();
    into.put("frame_name", AttrValue.of(loop.name()));
    into.put("parallel_iterations", AttrValue.of(loop.parallelIterations()));
    into.put("is_constant", AttrValue.of(false));
    Node enter = add(part, name + "_e", "Enter", device, into, List.of(start.output(0)), List.of());
    Map<String, AttrValue> two = typed();
    two.put("N", AttrValue.of(2));
    Node merge =
        add(part, name, "Merge", device, two, Arrays.asList(enter.output(0), null), List.of());
    merges.putIfAbsent(at, merge);
    controlLoops.put(at, merge);
    open.add(new Open(frame, merge, name));
    return merge;
  }

  /** How a condition gets to a control loop's device. */
  interface Way {
    /** The condition where {@code merge} is; what must run before it is added to the controls. */
    Output to(Output condition, Node merge, List<Node> controls);
  }

  /** Closes the control loops, when all nodes of the graph have been copied. */
  void close(Way way) {
    // Fetching a condition may add a control loop where it is made.
    for (int i = 0; i < open.size(); i++) {
      Open loop = open.get(i);
      Output condition = conditions.get(loop.frame);
      if (condition == null) {
        throw MillraceException.invalid(
            "Loop '%s' is on several devices, but nothing in it is its condition (a LoopCond).",
            nest.frames().get(loop.frame).name());
      }
      Node merge = loop.merge;
      List<Node> controls = new ArrayList<>();
      Output goesOn = way.to(condition, merge, controls);
      Graph part = merge.graph();
      Node choice =
          add(
              part,
              loop.name + "_w",
              "Switch",
              merge.device(),
              typed(),
              List.of(merge.output(0), goesOn),
              controls);
      Node next =
          add(
              part,
              loop.name + "_n",
              "NextIteration",
              merge.device(),
              typed(),
              List.of(choice.output(1)),
              List.of());
      part.connectBackEdge(merge, 1, next.output(0));
    }
  }

  private static Map<String, AttrValue> typed() {
    Map<String, AttrValue> attrs = new LinkedHashMap<>();
    attrs.put("T", AttrValue.of(DType.FLOAT));
    return attrs;
  }

  private Node add(
      Graph part,
      String name,
      String op,
      String device,
      Map<String, AttrValue> attrs,
      List<Output> inputs,
      List<Node> controls) {
    return part.add(name, registry.get(op, name), device, attrs, inputs, controls);
  }
}
