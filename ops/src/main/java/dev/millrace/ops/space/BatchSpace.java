package dev.millrace.ops.space;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/**
 * Moves blocks of the spatial dimensions into the batch and back: the way a dilated convolution
 * becomes an ordinary one. The older pair is for images, with one size for both dimensions.
 */
final class BatchSpace {
  static final Op TO_BATCH_ND = blocks("SpaceToBatchND", "paddings", "Tpaddings", true);
  static final Op TO_SPACE_ND = blocks("BatchToSpaceND", "crops", "Tcrops", false);
  static final Op TO_BATCH = images("SpaceToBatch", "paddings", "Tpaddings", true);
  static final Op TO_SPACE = images("BatchToSpace", "crops", "Tidx", false);

  private BatchSpace() {}

  private static Op blocks(String name, String margins, String type, boolean toBatch) {
    Gradient inverse =
        g ->
            g.dx(
                0,
                dy(g, toBatch ? "BatchToSpaceND" : "SpaceToBatchND")
                    .input(g.input(1))
                    .input(g.input(2))
                    .add()
                    .output());
    return define(
        Op.define(name)
            .attr("T: type")
            .attr("Tblock_shape: {int32, int64} = int32")
            .attr(type + ": {int32, int64} = int32")
            .input("input: T")
            .input("block_shape: Tblock_shape")
            .input(margins + ": " + type)
            .output("output: T"),
        2,
        toBatch,
        inverse);
  }

  private static Op images(String name, String margins, String type, boolean toBatch) {
    Gradient inverse =
        g ->
            g.dx(
                0,
                dy(g, toBatch ? "BatchToSpace" : "SpaceToBatch")
                    .input(g.input(1))
                    .attr("block_size", g.node().longAttr("block_size"))
                    .add()
                    .output());
    return define(
        Op.define(name)
            .attr("T: type")
            .attr(type + ": {int32, int64} = int32")
            .attr("block_size: int >= 2")
            .input("input: T")
            .input(margins + ": " + type)
            .output("output: T"),
        1,
        toBatch,
        inverse);
  }

  private static NodeBuilder dy(GradientContext g, String op) {
    return g.scope().node(op).input(g.dy());
  }

  private static Op define(Op.Builder op, int marginsInput, boolean toBatch, Gradient inverse) {
    return op.shape(c -> List.of(infer(c, marginsInput, toBatch)))
        .kernelPerNode(node -> kernel(marginsInput, toBatch))
        .gradient(inverse)
        .build();
  }

  private static Shape infer(ShapeContext c, int marginsInput, boolean toBatch) {
    Shape in = marginsInput == 1 ? c.inputOfRank(0, 4) : c.input(0);
    long spatial = marginsInput == 1 ? 2 : c.inputOfRank(1, 1).dim(0);
    Shape margins = c.inputOfRank(marginsInput, 2);
    if (!margins.isCompatibleWith(Shape.of(spatial, 2))) {
      throw MillraceException.invalid(
          "%s '%s': input %d must have shape [%d, 2], one row for each spatial dimension; it has"
              + " shape %s.",
          c.node().op().name(), c.node().name(), marginsInput, spatial, margins);
    }
    if (!in.hasRank() || spatial < 0) {
      return in.hasRank() ? Shape.unknownOfRank(in.rank()) : in;
    }
    checkRank(c.node(), in, spatial);
    Tensor size = marginsInput == 1 ? null : c.constant(1);
    Tensor rows = c.constant(marginsInput);
    Shape some = rows == null ? hidden(in, spatial) : in;
    if (size == null && marginsInput == 2) {
      return hidden(in, spatial).withDim(0, Shape.UNKNOWN);
    }
    Blocks blocks =
        rows == null
            ? new Blocks(sizes(c.node(), size), new long[2 * (int) spatial])
            : blocks(c.node(), in, size, rows);
    return toBatch ? blocks.toBatch(some) : blocks.toSpace(some);
  }

  /** The shape without what it tells of the spatial dimensions. */
  private static Shape hidden(Shape in, long spatial) {
    Shape s = in;
    for (int i = 1; i <= spatial; i++) {
      s = s.withDim(i, Shape.UNKNOWN);
    }
    return s;
  }

  private static void checkRank(Node node, Shape in, long spatial) {
    if (in.rank() < 1 + spatial) {
      throw MillraceException.invalid(
          "%s '%s': input rank should be >= %d, a batch dimension and %d spatial ones; the input"
              + " has shape %s.",
          node.op().name(), node.name(), 1 + spatial, spatial, in);
    }
  }

  private static Kernel kernel(int marginsInput, boolean toBatch) {
    return c -> {
      Tensor x = c.input(0);
      Tensor size = marginsInput == 1 ? null : c.input(1);
      Blocks blocks = blocks(c.node(), x.shape(), size, c.input(marginsInput));
      if (toBatch) {
        Tensor y = c.allocate(0, blocks.toBatch(x.shape()));
        ZerosLike.clear(y);
        blocks.copyToBatch(x, y);
      } else {
        blocks.copyToSpace(x, c.allocate(0, blocks.toSpace(x.shape())));
      }
    };
  }

  /** {@code size}: the sizes of the blocks, null where the node's attribute tells them. */
  private static Blocks blocks(Node node, Shape in, Tensor size, Tensor margins) {
    if (size == null && in.rank() != 4) {
      throw MillraceException.invalid(
          "%s '%s': Input rank should be: 4 instead of: %d",
          node.op().name(), node.name(), in.rank());
    }
    long[] block = sizes(node, size);
    checkRank(node, in, block.length);
    if (!margins.shape().equals(Shape.of(block.length, 2))) {
      throw MillraceException.invalid(
          "%s '%s': paddings or crops should have shape [%d, 2] instead of %s",
          node.op().name(), node.name(), block.length, margins.shape());
    }
    return new Blocks(block, margins.toLongs());
  }

  private static long[] sizes(Node node, Tensor size) {
    if (size == null) {
      long both = node.longAttr("block_size");
      return new long[] {both, both};
    }
    if (size.shape().rank() != 1) {
      throw MillraceException.invalid(
          "%s '%s': block_shape rank should be 1 instead of %d",
          node.op().name(), node.name(), size.shape().rank());
    }
    return size.toLongs();
  }
}
