package dev.millrace.ops.rearrange;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Numbers of dimensions, and values per dimension, from one order of dimensions to another. */
final class DataFormat {
  private static final String REASON = "whole numbers are not differentiable";

  static final Op DIM_MAP =
      define("DataFormatDimMap")
          .shape(Shapes.like(0))
          .kernelPerNode(DataFormat::dimMap)
          .noGradient(REASON)
          .build();

  static final Op VEC_PERMUTE =
      define("DataFormatVecPermute")
          .shape(DataFormat::inferPermute)
          .kernelPerNode(DataFormat::vecPermute)
          .noGradient(REASON)
          .build();

  static final List<Op> ALL = List.of(DIM_MAP, VEC_PERMUTE);

  private DataFormat() {}

  private static Op.Builder define(String name) {
    return Op.define(name)
        .attr("T: {int32, int64} = int32")
        .attr("src_format: string = 'NHWC'")
        .attr("dst_format: string = 'NCHW'")
        .input("x: T")
        .output("y: T");
  }

  private static void check(String from, String to) {
    if (from.length() != 4 && from.length() != 5) {
      throw MillraceException.invalid(
          "Source format must be of length 4 or 5, received src_format = %s", from);
    }
    if (from.length() != to.length()) {
      throw MillraceException.invalid(
          "Destination format must have the length of the source format, received %s and %s",
          from, to);
    }
    for (int i = 0; i < from.length(); i++) {
      if (to.indexOf(from.charAt(i)) < 0) {
        throw MillraceException.invalid(
            "Destination and source format must determine a permutation, got %s and %s", from, to);
      }
    }
  }

  private static Kernel dimMap(Node node) {
    String from = node.stringAttr("src_format");
    String to = node.stringAttr("dst_format");
    check(from, to);
    int rank = from.length();
    return c -> {
      Tensor x = c.input(0);
      Tensor y = c.allocate(0, x.shape());
      for (long i = 0; i < x.elements(); i++) {
        long d = x.longAt(i);
        // A dimension that is none is taken modulo their number, as in TensorFlow.
        y.setLong(i, to.indexOf(from.charAt((int) Math.floorMod(d, (long) rank))));
      }
    };
  }

  private static List<Shape> inferPermute(ShapeContext c) {
    Shape s = c.input(0);
    if (s.hasRank() && s.rank() != 1 && s.rank() != 2) {
      throw MillraceException.invalid("input must be a vector or 2D tensor, but got shape %s", s);
    }
    return List.of(s);
  }

  private static Kernel vecPermute(Node node) {
    String from = node.stringAttr("src_format");
    String to = node.stringAttr("dst_format");
    check(from, to);
    return c -> {
      Tensor x = c.input(0);
      Shape s = x.shape();
      if (s.rank() != 1 && s.rank() != 2) {
        throw MillraceException.invalid("input must be a vector or 2D tensor, but got shape %s", s);
      }
      int n = Math.toIntExact(s.dim(0));
      int columns = s.rank() == 1 ? 1 : Math.toIntExact(s.dim(1));
      String source = from;
      String target = to;
      if (n == from.length() - 2 && n != from.length()) {
        source = spatial(from);
        target = spatial(to);
      }
      if (n != source.length() || (s.rank() == 2 && columns != 2)) {
        throw MillraceException.invalid(
            "input must have a row per dimension of %s, or per spatial one, and two columns if it"
                + " is a matrix, but got shape %s",
            from, s);
      }
      Tensor y = c.allocate(0, s);
      for (int i = 0; i < n; i++) {
        int at = target.indexOf(source.charAt(i));
        for (int k = 0; k < columns; k++) {
          y.setLong((long) at * columns + k, x.longAt((long) i * columns + k));
        }
      }
    };
  }

  private static String spatial(String format) {
    return format.replace("N", "").replace("C", "");
  }
}
