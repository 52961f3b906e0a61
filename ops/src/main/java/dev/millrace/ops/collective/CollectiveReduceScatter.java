package dev.millrace.ops.collective;

import dev.millrace.base.MillraceException;
import dev.millrace.base.steps.Phase;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The reduction of a group's tensors, equal in shape and type, of which each device is given its
 * part: as many rows as there are for every rank. TensorFlow has this op for GPUs only; on CPUs it
 * works between tasks of Millrace.
 */
public final class CollectiveReduceScatter {
  public static final Op V2 =
      GroupAttributes.ordered(
              GroupAttributes.BY_INPUTS.keys(
                  GroupAttributes.BY_INPUTS
                      .define("CollectiveReduceScatter")
                      .attr(CollectiveReduce.T)
                      .input("input: T")))
          .output("data: T")
          .attr(CollectiveReduce.MERGE)
          .attr(CollectiveReduce.FINAL)
          .attr("max_subdivs_per_device: int = -1")
          .shape(
              c -> {
                Shape s = c.input(0);
                return List.of(s.hasRank() && s.rank() > 0 ? s.withDim(0, Shape.UNKNOWN) : s);
              })
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(kernel(node)))
          .build();

  private CollectiveReduceScatter() {}

  private static Kernel kernel(Node node) {
    CollectiveExecutor.Reduce reduction = CollectiveReduce.byInputs(node);
    return c -> {
      CollectiveExecutor.Part part = GroupAttributes.BY_INPUTS.part(c, "ReduceScatterV2", 1);
      Tensor own = c.input(0);
      Shape s = own.shape();
      if (s.rank() == 0 || s.dim(0) % part.groupSize() != 0) {
        throw MillraceException.invalid(
            "the input has shape %s; its first dimension must be a multiple of the group size %d.",
            s, part.groupSize());
      }
      Tensor value = c.allocate(0, s.withDim(0, s.dim(0) / part.groupSize()));
      if (part.groupSize() == 1) {
        MemorySegment.copy(own.data(), 0, value.data(), 0, own.byteSize());
        return;
      }
      Tensor whole = Refs.copy(own);
      try {
        GroupAttributes.run(c, part, new CollectiveExecutor.ReduceScatter(reduction, whole), value);
      } finally {
        Refs.release(whole);
      }
    };
  }
}
