package dev.millrace.ops.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.op.Collectives;
import dev.millrace.graph.op.Kernel;
import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.Shapes;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** One device's tensor, given to all of its group: one node sends, the others receive. */
public final class CollectiveBroadcast {
  private static final String T = "T: {bool, float, half, double, int32, int64}";

  public static final Op SEND =
      Membership.BY_ATTRIBUTES
          .keys(
              Membership.BY_ATTRIBUTES
                  .define("CollectiveBcastSend")
                  .attr(T)
                  .input("input: T")
                  .output("data: T"))
          .attr("shape: shape")
          .shape(Shapes.attr("shape"))
          .asyncKernel(node -> Background.of(sender(node, Membership.BY_ATTRIBUTES)))
          .build();

  public static final Op RECV =
      Membership.BY_ATTRIBUTES
          .keys(Membership.BY_ATTRIBUTES.define("CollectiveBcastRecv").attr(T).output("data: T"))
          .attr("shape: shape")
          .shape(Shapes.attr("shape"))
          .asyncKernel(node -> Background.of(receiver(node, Membership.BY_ATTRIBUTES)))
          .build();

  public static final Op SEND_V2 =
      Membership.BY_INPUTS
          .keys(Membership.BY_INPUTS.define("CollectiveBcastSend").attr(T).input("input: T"))
          .output("data: T")
          .shape(Shapes.like(0))
          .asyncKernel(node -> Background.of(sender(node, Membership.BY_INPUTS)))
          .build();

  public static final Op RECV_V2 =
      Membership.BY_INPUTS
          .keys(Membership.BY_INPUTS.define("CollectiveBcastRecv").attr(T))
          .attr("Tshape: {int32, int64} = int32")
          .input("shape: Tshape")
          .output("data: T")
          .shape(c -> List.of(c.constantAsShape(3)))
          .asyncKernel(node -> Background.of(receiver(node, Membership.BY_INPUTS)))
          .build();

  private CollectiveBroadcast() {}

  private static Kernel sender(Node node, Membership membership) {
    Shape declared = membership == Membership.BY_ATTRIBUTES ? node.shapeAttr("shape") : null;
    return c -> {
      Collectives.Part part = membership.part(c, "Broadcast(1)", 1);
      Tensor value = c.input(0);
      if (declared != null && !declared.equals(value.shape())) {
        throw new MillraceException(
            Code.INTERNAL,
            String.format(
                "Declared shape of op %s does not match shape of input: declared %s, got %s.",
                part.name(), declared, value.shape()));
      }
      Membership.run(c, part, new Collectives.Broadcast(true), value);
      c.forward(0, 0);
    };
  }

  private static Kernel receiver(Node node, Membership membership) {
    Shape declared = membership == Membership.BY_ATTRIBUTES ? node.shapeAttr("shape") : null;
    return c -> {
      Collectives.Part part = membership.part(c, "Broadcast(0)", 0);
      if (part.groupSize() == 1) {
        throw new MillraceException(
            Code.INTERNAL,
            String.format(
                "Instance %d found no source for broadcast.  This could mean that there were"
                    + " group_size=1 BcastRecvs but no BcastSend.",
                part.instanceKey()));
      }
      Shape shape = declared != null ? declared : Shape.of(c.input(3).toLongs());
      Membership.run(c, part, new Collectives.Broadcast(false), c.allocate(0, shape));
    };
  }
}
