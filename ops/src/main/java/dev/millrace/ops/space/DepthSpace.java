package dev.millrace.ops.space;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/**
 * Moves square blocks of an image into its depth and back: a block of {@code block_size} times
 * {@code block_size} pixels becomes one pixel with as many times the channels.
 */
final class DepthSpace {
  static final Op TO_SPACE = define("DepthToSpace", true);
  static final Op TO_DEPTH = define("SpaceToDepth", false);

  private DepthSpace() {}

  private static Op define(String name, boolean toSpace) {
    return Op.define(name)
        .attr("T: type")
        .attr("block_size: int >= 2")
        .attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
        .input("input: T")
        .output("output: T")
        .shape(c -> List.of(new Layout(c.node()).result(c.input(0), toSpace)))
        .kernelPerNode(node -> kernel(node, toSpace))
        .gradient(inverse(toSpace ? "SpaceToDepth" : "DepthToSpace"))
        .build();
  }

  private static Gradient inverse(String op) {
    return g ->
        g.dx(
            0,
            g.scope()
                .node(op)
                .input(g.dy())
                .attr("block_size", g.node().longAttr("block_size"))
                .attr("data_format", g.node().stringAttr("data_format"))
                .add()
                .output());
  }

  private static Kernel kernel(Node node, boolean toSpace) {
    Layout layout = new Layout(node);
    if (layout.rank() != 4) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "%s '%s': data_format NCHW_VECT_C is not implemented; use NHWC or NCHW."
              .formatted(node.op().name(), node.name()));
    }
    return c -> {
      Tensor x = c.input(0);
      Shape result = layout.result(x.shape(), toSpace);
      Tensor y = c.allocate(0, result);
      Shape deep = toSpace ? x.shape() : result;
      Shape wide = toSpace ? result : x.shape();
      long[] dims = layout.dims(deep);
      long[] deepStrides = layout.deepStrides(deep);
      long[] wideStrides = layout.wideStrides(wide);
      StridedCopy.copy(
          dims,
          x,
          0,
          toSpace ? deepStrides : wideStrides,
          y,
          0,
          toSpace ? wideStrides : deepStrides);
    };
  }

  /** Where a node's images have their rows, columns and channels, and how large its blocks are. */
  private static final class Layout {
    private final Node node;
    private final long block;

    /** Pixels of a block. */
    private final long area;

    private final String format;

    Layout(Node node) {
      this.node = node;
      this.block = node.longAttr("block_size");
      this.area = Blocks.times(block, block);
      this.format = node.stringAttr("data_format");
    }

    int rank() {
      return format.equals("NCHW_VECT_C") ? 5 : 4;
    }

    private int channel() {
      return format.equals("NHWC") ? 3 : 1;
    }

    private int row() {
      return format.equals("NHWC") ? 1 : 2;
    }

    /** The shape of the result for an input of this shape, or what is known of it. */
    Shape result(Shape s, boolean toSpace) {
      if (!s.hasRank()) {
        return Shape.unknownOfRank(rank());
      }
      if (s.rank() != rank()) {
        throw MillraceException.invalid(
            "%s '%s': Input rank should be %d instead of %d; the input has shape %s.",
            node.op().name(), node.name(), rank(), s.rank(), s);
      }
      int row = row();
      return toSpace
          ? s.withDim(row, Blocks.times(s.dim(row), block))
              .withDim(row + 1, Blocks.times(s.dim(row + 1), block))
              .withDim(channel(), parts(s, channel(), area, "depth"))
          : s.withDim(row, parts(s, row, block, "height"))
              .withDim(row + 1, parts(s, row + 1, block, "width"))
              .withDim(channel(), Blocks.times(s.dim(channel()), area));
    }

    private long parts(Shape s, int axis, long by, String what) {
      long size = s.dim(axis);
      if (size >= 0 && size % by != 0) {
        throw MillraceException.invalid(
            "%s '%s': the %s of the input, %d, must be divisible by %d; the input has shape %s and"
                + " block_size is %d.",
            node.op().name(), node.name(), what, size, by, s, block);
      }
      return size < 0 ? size : size / by;
    }

    /** Batch, row, row in the block, column, column in the block, channel of the wide image. */
    long[] dims(Shape deep) {
      int row = row();
      long channels = deep.dim(channel()) / area;
      return new long[] {deep.dim(0), deep.dim(row), block, deep.dim(row + 1), block, channels};
    }

    long[] deepStrides(Shape deep) {
      long[] s = StridedCopy.rowMajor(deep.dims());
      long depth = s[channel()] * (deep.dim(channel()) / area);
      return new long[] {s[0], s[row()], depth * block, s[row() + 1], depth, s[channel()]};
    }

    long[] wideStrides(Shape wide) {
      long[] s = StridedCopy.rowMajor(wide.dims());
      int row = row();
      return new long[] {
        s[0], s[row] * block, s[row], s[row + 1] * block, s[row + 1], s[channel()]
      };
    }
  }
}
