package dev.millrace.ops.collective;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.op.Collectives;
import dev.millrace.graph.op.Collectives.Merge;
import dev.millrace.graph.op.Kernel;
import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.Shapes;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The reduction of a group's tensors, equal in shape and type, given to all of the group. */
public final class CollectiveReduce {
  private static final String T = "T: {bfloat16, float, half, double, int32, int64}";
  private static final String MERGE = "merge_op: {'Min', 'Max', 'Mul', 'Add'}";
  private static final String FINAL = "final_op: {'Id', 'Div'}";

  public static final Op OP =
      Membership.BY_ATTRIBUTES
          .keys(
              Membership.BY_ATTRIBUTES
                  .define("CollectiveReduce")
                  .attr(T)
                  .input("input: T")
                  .output("data: T"))
          .attr(MERGE)
          .attr(FINAL)
          .attr("subdiv_offsets: list(int)")
          .attr("wait_for: list(int) = []")
          .shape(Shapes.like(0))
          .asyncKernel(node -> Background.of(kernel(node, Membership.BY_ATTRIBUTES)))
          .build();

  public static final Op V2 =
      Membership.BY_INPUTS
          .keys(Membership.BY_INPUTS.define("CollectiveReduce").attr(T).input("input: T"))
          .attr("Nordering_token: int >= 0 = 0")
          .input("ordering_token: Nordering_token * resource")
          .output("data: T")
          .attr(MERGE)
          .attr(FINAL)
          .attr("is_stateless: bool = false")
          .attr("max_subdivs_per_device: int = -1")
          .shape(Shapes.like(0))
          .asyncKernel(node -> Background.of(kernel(node, Membership.BY_INPUTS)))
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

  private static Kernel kernel(Node node, Membership membership) {
    String merge = node.stringAttr("merge_op");
    boolean divides = node.stringAttr("final_op").equals("Div");
    String what =
        "Reduce"
            + (membership == Membership.BY_INPUTS ? "V2" : "")
            + "("
            + merge
            + ","
            + node.stringAttr("final_op")
            + ")";
    List<Integer> rings = new ArrayList<>();
    int ringsPerDevice = 0;
    if (membership == Membership.BY_ATTRIBUTES) {
      for (long offset : node.longsAttr("subdiv_offsets")) {
        rings.add((int) offset);
      }
    } else {
      ringsPerDevice = node.intAttr("max_subdivs_per_device");
    }
    Collectives.Work work =
        new Collectives.Reduce(
            Merge.valueOf(merge.toUpperCase(Locale.ROOT)),
            divides,
            List.copyOf(rings),
            ringsPerDevice);
    return c -> {
      Collectives.Part part = membership.part(c, what, 1);
      Tensor in = c.input(0);
      Tensor value = c.allocateOrReuse(0, 0, in.shape());
      if (value.buffer() != in.buffer()) {
        MemorySegment.copy(in.data(), 0, value.data(), 0, in.byteSize());
      }
      Membership.run(c, part, work, value);
    };
  }
}
