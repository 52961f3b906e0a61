package dev.millrace.ops.collective;

import dev.millrace.base.MillraceException;
import dev.millrace.base.steps.Phase;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** A group's tensors, equal in shape and type, one after the other along the first dimension. */
public final class CollectiveGather {
  private static final String T = "T: {float, half, double, int32, int64}";

  public static final Op OP =
      GroupAttributes.BY_ATTRIBUTES
          .keys(
              GroupAttributes.BY_ATTRIBUTES
                  .define("CollectiveGather")
                  .attr(T)
                  .input("input: T")
                  .output("data: T"))
          .attr("shape: shape")
          .shape(Shapes.attr("shape"))
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(kernel(GroupAttributes.BY_ATTRIBUTES)))
          .build();

  public static final Op V2 =
      GroupAttributes.ordered(
              GroupAttributes.BY_INPUTS.keys(
                  GroupAttributes.BY_INPUTS.define("CollectiveGather").attr(T).input("input: T")))
          .output("data: T")
          .shape(
              c -> {
                Shape s = c.input(0);
                return List.of(s.hasRank() && s.rank() > 0 ? s.withDim(0, Shape.UNKNOWN) : s);
              })
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(kernel(GroupAttributes.BY_INPUTS)))
          .build();

  private CollectiveGather() {}

  private static Kernel kernel(GroupAttributes membership) {
    String what = membership == GroupAttributes.BY_INPUTS ? "GatherV2" : "Gather";
    return c -> {
      CollectiveExecutor.Part part = membership.part(c, what, 1);
      Tensor own = c.input(0);
      if (own.shape().rank() == 0) {
        throw MillraceException.invalid("input should have rank > 0, received 0");
      }
      Shape whole = own.shape().withDim(0, own.shape().dim(0) * part.groupSize());
      Tensor value = c.allocate(0, whole);
      if (part.groupSize() == 1) {
        MemorySegment.copy(own.data(), 0, value.data(), 0, own.byteSize());
      }
      GroupAttributes.run(c, part, new CollectiveExecutor.Gather(own), value);
    };
  }
}
