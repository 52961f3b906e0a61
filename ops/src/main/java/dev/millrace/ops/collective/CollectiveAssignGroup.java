package dev.millrace.ops.collective;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Size and key of the group that a device belongs to, by a matrix with a row for each group. */
public final class CollectiveAssignGroup {
  public static final Op V2 =
      Op.define("CollectiveAssignGroupV2")
          .input("group_assignment: int32")
          .input("device_index: int32")
          .input("base_key: int32")
          .output("group_size: int32")
          .output("group_key: int32")
          .stateful()
          .shape(c -> List.of(Shape.scalar(), Shape.scalar()))
          .kernel(CollectiveAssignGroup::compute)
          .noGradient("keys and sizes are whole numbers")
          .build();

  private CollectiveAssignGroup() {}

  private static void compute(KernelContext c) {
    Tensor groups = c.input(0);
    int device = scalar(c, 1, "device_index");
    int base = scalar(c, 2, "base_key");
    if (groups.shape().rank() != 2) {
      throw MillraceException.invalid(
          "group_assignment must be a 2-d Tensor, but received tensor of shape: %s",
          groups.shape());
    }
    c.allocate(0, Shape.scalar()).setLong(0, groups.shape().dim(1));
    c.allocate(1, Shape.scalar()).setLong(0, base + groupOf(device, groups, base));
  }

  private static int groupOf(int device, Tensor groups, int base) {
    long size = groups.shape().dim(1);
    for (int i = 0; i < groups.elements(); i++) {
      int group = (int) (i / size);
      if (base + group == 0) {
        throw MillraceException.invalid(
            "Using the reserved group_key = 0 is not allowed: group_id = %d, base_key = %d",
            group, base);
      }
      long member = groups.longAt(i);
      if (member < 0 || member >= groups.elements()) {
        throw MillraceException.invalid(
            "Not all items in group_assignment %s are within [0, number of devices)", groups);
      }
      if (member == device) {
        return group;
      }
    }
    throw MillraceException.invalid(
        "device_index %d is not found in group_assignment %s", device, groups);
  }

  private static int scalar(KernelContext c, int i, String name) {
    Tensor t = c.input(i);
    if (!t.shape().isScalar()) {
      throw MillraceException.invalid(
          "%s must be a scalar, but received tensor of shape: %s", name, t.shape());
    }
    return t.intValue();
  }
}
