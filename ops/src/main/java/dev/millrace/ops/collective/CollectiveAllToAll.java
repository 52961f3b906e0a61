package dev.millrace.ops.collective;

import dev.millrace.base.MillraceException;
import dev.millrace.base.steps.Phase;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;

/**
 * An exchange between all of a group: row {@code i} of a device's tensor goes to rank {@code i}.
 */
public final class CollectiveAllToAll {
  public static final Op V2 =
      GroupAttributes.ordered(
              GroupAttributes.BY_INPUTS.keys(
                  GroupAttributes.BY_INPUTS
                      .define("CollectiveAllToAll")
                      .attr("T: {bfloat16, float, half, double, int32, int64}")
                      .input("input: T")))
          .output("data: T")
          .shape(Shapes.like(0))
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(CollectiveAllToAll::compute))
          .build();

  private CollectiveAllToAll() {}

  private static void compute(KernelContext c) {
    CollectiveExecutor.Part part = GroupAttributes.BY_INPUTS.part(c, "AllToAllV2", 1);
    Tensor own = c.input(0);
    Shape s = own.shape();
    if (s.rank() == 0 || s.dim(0) != part.groupSize()) {
      throw MillraceException.invalid(
          "input to all-to-all first dimension size (%s) must be the same as the group size (%d)",
          s.rank() == 0 ? "none: it is a scalar" : s.dim(0), part.groupSize());
    }
    Tensor value = c.allocate(0, s);
    if (part.groupSize() == 1) {
      MemorySegment.copy(own.data(), 0, value.data(), 0, own.byteSize());
    }
    GroupAttributes.run(c, part, new CollectiveExecutor.AllToAll(own), value);
  }
}
