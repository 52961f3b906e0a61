package dev.millrace.ops.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.steps.Phase;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** One device's tensor, given to all of its group: one node sends, the others receive. */
public final class CollectiveBroadcast {
  private static final String T = "T: {bool, float, half, double, int32, int64}";

  public static final Op SEND =
      GroupAttributes.BY_ATTRIBUTES
          .keys(
              GroupAttributes.BY_ATTRIBUTES
                  .define("CollectiveBcastSend")
                  .attr(T)
                  .input("input: T")
                  .output("data: T"))
          .attr("shape: shape")
          .shape(Shapes.attr("shape"))
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(sender(node, GroupAttributes.BY_ATTRIBUTES)))
          .build();

  public static final Op RECV =
      GroupAttributes.BY_ATTRIBUTES
          .keys(
              GroupAttributes.BY_ATTRIBUTES.define("CollectiveBcastRecv").attr(T).output("data: T"))
          .attr("shape: shape")
          .shape(Shapes.attr("shape"))
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(receiver(node, GroupAttributes.BY_ATTRIBUTES)))
          .build();

  public static final Op SEND_V2 =
      GroupAttributes.BY_INPUTS
          .keys(GroupAttributes.BY_INPUTS.define("CollectiveBcastSend").attr(T).input("input: T"))
          .output("data: T")
          .shape(Shapes.like(0))
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(sender(node, GroupAttributes.BY_INPUTS)))
          .build();

  public static final Op RECV_V2 =
      GroupAttributes.BY_INPUTS
          .keys(GroupAttributes.BY_INPUTS.define("CollectiveBcastRecv").attr(T))
          .attr("Tshape: {int32, int64} = int32")
          .input("shape: Tshape")
          .output("data: T")
          .shape(c -> List.of(c.constantAsShape(3)))
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(receiver(node, GroupAttributes.BY_INPUTS)))
          .build();

  private CollectiveBroadcast() {}

  private static Kernel sender(Node node, GroupAttributes membership) {
    Shape declared = membership == GroupAttributes.BY_ATTRIBUTES ? node.shapeAttr("shape") : null;
    return c -> {
      CollectiveExecutor.Part part = membership.part(c, "Broadcast(1)", 1);
      Tensor value = c.input(0);
      if (declared != null && !declared.equals(value.shape())) {
        throw new MillraceException(
            Code.INTERNAL,
            String.format(
                "Declared shape of op %s does not match shape of input: declared %s, got %s.",
                part.name(), declared, value.shape()));
      }
      GroupAttributes.run(c, part, new CollectiveExecutor.Broadcast(true), value);
      c.forward(0, 0);
    };
  }

  private static Kernel receiver(Node node, GroupAttributes membership) {
    Shape declared = membership == GroupAttributes.BY_ATTRIBUTES ? node.shapeAttr("shape") : null;
    return c -> {
      CollectiveExecutor.Part part = membership.part(c, "Broadcast(0)", 0);
      if (part.groupSize() == 1) {
        throw new MillraceException(
            Code.INTERNAL,
            String.format(
                "Instance %d found no source for broadcast.  This could mean that there were"
                    + " group_size=1 BcastRecvs but no BcastSend.",
                part.instanceKey()));
      }
      Shape shape = declared != null ? declared : Shape.of(c.input(3).toLongs());
      GroupAttributes.run(c, part, new CollectiveExecutor.Broadcast(false), c.allocate(0, shape));
    };
  }
}
