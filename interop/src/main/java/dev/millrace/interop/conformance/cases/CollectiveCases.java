package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/**
 * Collective ops of groups of one device, which need no cluster. Groups of several, of both kinds
 * of worker, are another test's business.
 */
public final class CollectiveCases extends CaseTable {
  public CollectiveCases() {
    for (DType dtype : List.of(DType.FLOAT, DType.HALF, DType.DOUBLE, DType.INT32, DType.INT64)) {
      for (String merge : List.of("Add", "Mul", "Min", "Max")) {
        keys(op("CollectiveReduce", any(dtype, 2, 3)))
            .with("merge_op", merge)
            .with("final_op", merge.equals("Add") ? "Div" : "Id")
            .with("subdiv_offsets", List.of(0));
      }
      op("CollectiveReduceV2", any(dtype, 5), scalar(1), scalar(4), scalar(1))
          .with("merge_op", "Add")
          .with("final_op", "Id")
          .with("Nordering_token", 0)
          .noGradient();
      keys(op("CollectiveGather", any(dtype, 2, 3))).with("shape", Shape.of(2, 3));
      op("CollectiveGatherV2", any(dtype, 2, 3), scalar(1), scalar(4), scalar(1))
          .with("Nordering_token", 0)
          .noGradient();
      keys(op("CollectiveBcastSend", any(dtype, 2, 3))).with("shape", Shape.of(2, 3));
      op("CollectiveBcastSendV2", any(dtype, 2, 3), scalar(1), scalar(4), scalar(1)).noGradient();
    }
    keys(op("CollectiveBcastRecv"))
        .with("T", DType.FLOAT)
        .with("shape", Shape.of(2))
        .fails(Code.INTERNAL);
    op("CollectiveBcastRecvV2", scalar(1), scalar(4), scalar(1), ints(2, 3))
        .with("T", DType.FLOAT)
        .noGradient()
        .fails(Code.INTERNAL);
    op("CollectiveReduceV2", floats(5), scalar(0), scalar(4), scalar(1))
        .with("merge_op", "Add")
        .with("final_op", "Id")
        .with("Nordering_token", 0)
        .noGradient()
        .fails(Code.INVALID_ARGUMENT);
    // A session of one process does not do it; MixedCollectivesTest has it done by several.
    op("CollectiveAllToAllV2", floats(1, 3), scalar(0), scalar(4), scalar(1))
        .with("Nordering_token", 0)
        .noGradient()
        .fails(Code.INVALID_ARGUMENT);
    groups();
    communicator();
  }

  private void groups() {
    Tensor groups = Tensor.of(Shape.of(2, 2), 0, 2, 3, 1);
    for (int device = 0; device < 4; device++) {
      op("CollectiveAssignGroupV2", groups, scalar(device), scalar(7));
    }
    op("CollectiveAssignGroupV2", Tensor.of(Shape.of(1, 1), 0), scalar(0), scalar(-3));
    for (OpCase wrong :
        List.of(
            op("CollectiveAssignGroupV2", groups, scalar(4), scalar(7)),
            op("CollectiveAssignGroupV2", groups, scalar(1), scalar(-1)),
            op("CollectiveAssignGroupV2", ints(0, 1), scalar(0), scalar(7)),
            op("CollectiveAssignGroupV2", groups, ints(0, 1), scalar(7)),
            op(
                "CollectiveAssignGroupV2",
                Tensor.of(Shape.of(0, 2), new int[0]),
                scalar(0),
                scalar(7)),
            op("CollectiveAssignGroupV2", Tensor.of(Shape.of(1, 2), 5, 0), scalar(0), scalar(7)))) {
      wrong.fails(Code.INVALID_ARGUMENT);
    }
  }

  /** In a session TensorFlow refuses what is wrong; at what is right its process ends. */
  private void communicator() {
    for (OpCase wrong :
        List.of(
            op("CollectiveInitializeCommunicator", scalar(31), scalar(0), scalar(0)),
            op("CollectiveInitializeCommunicator", scalar(31), scalar(1), scalar(1)),
            op("CollectiveInitializeCommunicator", scalar(31), scalar(-1), scalar(1)),
            op("CollectiveInitializeCommunicator", ints(1, 2), scalar(0), scalar(1)))) {
      wrong.fails(Code.INVALID_ARGUMENT);
    }
  }

  private static OpCase keys(OpCase c) {
    return c.with("group_size", 1).with("group_key", 4).with("instance_key", 1).noGradient();
  }
}
