package dev.millrace.ops.collective;

import dev.millrace.base.steps.Phase;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.graph.resource.CollectiveExecutor.Merge;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The reduction of a group's tensors, equal in shape and type, given to all of the group. */
public final class CollectiveReduce {
  static final String T = "T: {bfloat16, float, half, double, int32, int64}";
  static final String MERGE = "merge_op: {'Min', 'Max', 'Mul', 'Add'}";
  static final String FINAL = "final_op: {'Id', 'Div'}";

  public static final Op OP =
      GroupAttributes.BY_ATTRIBUTES
          .keys(
              GroupAttributes.BY_ATTRIBUTES
                  .define("CollectiveReduce")
                  .attr(T)
                  .input("input: T")
                  .output("data: T"))
          .attr(MERGE)
          .attr(FINAL)
          .attr("subdiv_offsets: list(int)")
          .attr("wait_for: list(int) = []")
          .shape(Shapes.like(0))
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(kernel(node, GroupAttributes.BY_ATTRIBUTES)))
          .build();

  public static final Op V2 =
      GroupAttributes.ordered(
              GroupAttributes.BY_INPUTS.keys(
                  GroupAttributes.BY_INPUTS.define("CollectiveReduce").attr(T).input("input: T")))
          .output("data: T")
          .attr(MERGE)
          .attr(FINAL)
          .attr("max_subdivs_per_device: int = -1")
          .shape(Shapes.like(0))
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(kernel(node, GroupAttributes.BY_INPUTS)))
          .build();

  private CollectiveReduce() {}

  /**
   * Adds one device's part in the sum of a group's tensors.
   *
   * @param groupKey the group's, the same in all its {@code groupSize} nodes
   * @param instanceKey this reduction's within the group, the same in all its nodes
   */
  public static Output sum(Scope scope, Output x, int groupSize, int groupKey, int instanceKey) {
    return scope
        .node("CollectiveReduce")
        .input(x)
        .attr("group_size", groupSize)
        .attr("group_key", groupKey)
        .attr("instance_key", instanceKey)
        .attr("merge_op", "Add")
        .attr("final_op", "Id")
        .attr("subdiv_offsets", List.of(0))
        .add()
        .output();
  }

  private static Kernel kernel(Node node, GroupAttributes membership) {
    String merge = node.stringAttr("merge_op");
    String what =
        "Reduce"
            + (membership == GroupAttributes.BY_INPUTS ? "V2" : "")
            + "("
            + merge
            + ","
            + node.stringAttr("final_op")
            + ")";
    CollectiveExecutor.Work work =
        membership == GroupAttributes.BY_ATTRIBUTES ? byAttributes(node) : byInputs(node);
    return c -> {
      CollectiveExecutor.Part part = membership.part(c, what, 1);
      GroupAttributes.run(c, part, work, ownCopy(c));
    };
  }

  private static CollectiveExecutor.Reduce byAttributes(Node node) {
    List<Integer> rings = new ArrayList<>();
    for (long offset : node.longsAttr("subdiv_offsets")) {
      rings.add((int) offset);
    }
    return new CollectiveExecutor.Reduce(
        merge(node.stringAttr("merge_op")), divides(node), List.copyOf(rings), 0);
  }

  /** The reduction that the attributes of version 2 tell of. */
  static CollectiveExecutor.Reduce byInputs(Node node) {
    return new CollectiveExecutor.Reduce(
        merge(node.stringAttr("merge_op")),
        divides(node),
        List.of(),
        node.intAttr("max_subdivs_per_device"));
  }

  static Merge merge(String name) {
    return Merge.valueOf(name.toUpperCase(Locale.ROOT));
  }

  private static boolean divides(Node node) {
    return node.stringAttr("final_op").equals("Div");
  }

  /** Output 0 with what input 0 holds, to be reduced in place. */
  static Tensor ownCopy(KernelContext c) {
    Tensor in = c.input(0);
    Tensor value = c.allocateOrReuse(0, 0, in.shape());
    if (Refs.buffer(value) != Refs.buffer(in)) {
      MemorySegment.copy(in.data(), 0, value.data(), 0, in.byteSize());
    }
    return value;
  }
}
