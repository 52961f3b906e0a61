package dev.millrace.ops.image;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** The boxes with the highest scores that overlap no box with a higher one too much. */
final class Suppression {
  static final List<Op> ALL =
      List.of(
          Op.define("NonMaxSuppression")
              .attr("iou_threshold: float = 0.5")
              .input("boxes: float")
              .input("scores: float")
              .input("max_output_size: int32")
              .output("selected_indices: int32")
              .shape(Suppression::infer)
              .kernel(c -> compute(c, c.node().floatAttr("iou_threshold"), Double.NaN))
              .noGradient("a choice is piecewise constant")
              .build(),
          define("NonMaxSuppressionV2", false),
          define("NonMaxSuppressionV3", true));

  private Suppression() {}

  private static Op define(String name, boolean hasScoreThreshold) {
    Op.Builder op =
        Op.define(name)
            .attr("T: {half, float} = float")
            .attr("T_threshold: {half, float} = float")
            .input("boxes: T")
            .input("scores: T")
            .input("max_output_size: int32")
            .input("iou_threshold: T_threshold");
    if (hasScoreThreshold) {
      op.input("score_threshold: T_threshold");
    }
    return op.output("selected_indices: int32")
        .shape(Suppression::infer)
        .kernel(c -> compute(c, threshold(c, 3), hasScoreThreshold ? threshold(c, 4) : Double.NaN))
        .noGradient("a choice is piecewise constant")
        .build();
  }

  private static double threshold(KernelContext c, int input) {
    if (!c.input(input).shape().isScalar()) {
      throw MillraceException.invalid(
          "%s must be 0-D, got shape %s",
          c.node().op().inputs().get(input).name(), c.input(input).shape());
    }
    return c.input(input).doubleAt(0);
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape boxes = c.inputOfRank(0, 2);
    Shape scores = c.inputOfRank(1, 1);
    for (int i = 2; i < c.inputCount(); i++) {
      c.inputOfRank(i, 0);
    }
    Shape.of(boxes.dim(0)).mergeWith(scores);
    if (boxes.dim(1) >= 0 && boxes.dim(1) != 4) {
      throw MillraceException.invalid("boxes must have 4 columns: %s", boxes);
    }
    return List.of(Shape.of(Shape.UNKNOWN));
  }

  private static void compute(KernelContext c, double overlap, double least) {
    Tensor boxes = c.input(0);
    Tensor scores = c.input(1);
    Shape s = boxes.shape();
    if (s.rank() != 2 || s.dim(1) != 4) {
      throw MillraceException.invalid("boxes must be 2-D with 4 columns: %s", s);
    }
    if (!scores.shape().equals(Shape.of(s.dim(0)))) {
      throw MillraceException.invalid(
          "scores has incompatible shape: %s for boxes %s", scores.shape(), s);
    }
    if (!c.input(2).shape().isScalar()) {
      throw MillraceException.invalid("max_output_size must be 0-D: %s", c.input(2).shape());
    }
    if (!(overlap >= 0 && overlap <= 1)) {
      throw MillraceException.invalid("iou_threshold must be in [0, 1]");
    }
    long most = c.input(2).longAt(0);
    if (most < 0) {
      throw MillraceException.invalid("output size must be non-negative");
    }
    int[] order =
        IntStream.range(0, Math.toIntExact(s.dim(0)))
            .boxed()
            .filter(i -> !(scores.doubleAt(i) <= least))
            .sorted(Comparator.comparingDouble(i -> -scores.doubleAt(i)))
            .mapToInt(Integer::intValue)
            .toArray();
    List<Integer> chosen = new ArrayList<>();
    for (int i : order) {
      if (chosen.size() < most && chosen.stream().noneMatch(k -> overlap(boxes, i, k) > overlap)) {
        chosen.add(i);
      }
    }
    Tensor out = c.allocate(0, Shape.of(chosen.size()));
    for (int i = 0; i < chosen.size(); i++) {
      out.setLong(i, chosen.get(i));
    }
  }

  /** The common area of two boxes over the area of both; corners may be given in any order. */
  private static double overlap(Tensor boxes, int a, int b) {
    double both = 1;
    double areaA = 1;
    double areaB = 1;
    for (int d = 0; d < 2; d++) {
      double lowA = Math.min(boxes.doubleAt(4L * a + d), boxes.doubleAt(4L * a + d + 2));
      double highA = Math.max(boxes.doubleAt(4L * a + d), boxes.doubleAt(4L * a + d + 2));
      double lowB = Math.min(boxes.doubleAt(4L * b + d), boxes.doubleAt(4L * b + d + 2));
      double highB = Math.max(boxes.doubleAt(4L * b + d), boxes.doubleAt(4L * b + d + 2));
      areaA *= highA - lowA;
      areaB *= highB - lowB;
      both *= Math.max(0, Math.min(highA, highB) - Math.max(lowA, lowB));
    }
    return areaA <= 0 || areaB <= 0 ? 0 : both / (areaA + areaB - both);
  }
}
