package dev.millrace.ops.array;

import static dev.millrace.ops.GradientCheck.random;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.GradientCheck;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.Test;

class ArrayGradientTest {
  private static final Tensor X = random(Shape.of(2, 3, 4), 1);

  private static void check(GradientCheck.Function f) {
    GradientCheck.check(f, X);
  }

  @Test
  void changesOfShape() {
    check((s, in) -> Reshape.of(s, in.getFirst(), Shape.of(4, -1)));
    check((s, in) -> ExpandDims.of(s, in.getFirst(), 1));
    check((s, in) -> Squeeze.of(s, ExpandDims.of(s, in.getFirst(), -1), -1));
    check((s, in) -> Transpose.of(s, in.getFirst(), 2, 0, 1));
    check((s, in) -> Reverse.of(s, in.getFirst(), Const.ints(s, 0, -1)));
  }

  @Test
  void joiningAndSplitting() {
    Tensor y = random(Shape.of(2, 1, 4), 2);
    GradientCheck.check((s, in) -> Concat.of(s, in, 1), X, y);
    GradientCheck.check((s, in) -> Concat.of(s, in, -2), X, y);
    GradientCheck.check(
        (s, in) -> s.node(Concat.V1).input(Const.of(s, 1)).inputs(in).add().output(), X, y);
    GradientCheck.check((s, in) -> Pack.of(s, in, -1), X, random(X.shape(), 3));
    check((s, in) -> Unpack.of(s, in.getFirst(), 3, 1).get(2));
    check(
        (s, in) -> {
          List<Output> parts = Split.of(s, in.getFirst(), 2, -1);
          return Arithmetic.mul(s, parts.get(0), parts.get(1));
        });
    check((s, in) -> Split.of(s, in.getFirst(), new long[] {1, 2}, 1).get(1));
  }

  @Test
  void partsAndWholes() {
    check((s, in) -> Slice.of(s, in.getFirst(), new int[] {0, 1, 2}, new int[] {2, -1, 1}));
    check((s, in) -> StridedSlice.at(s, in.getFirst(), -1));
    check((s, in) -> StridedSlice.range(s, in.getFirst(), 1, null));
    check(
        (s, in) ->
            s.node(StridedSlice.OP)
                .input(in.getFirst())
                .input(Const.ints(s, 0, 3, 0))
                .input(Const.ints(s, 0, 0, 0))
                .input(Const.ints(s, 1, -2, 1))
                .attr("ellipsis_mask", 1)
                .attr("new_axis_mask", 4)
                .add()
                .output());
    check((s, in) -> Pad.of(s, in.getFirst(), paddings(s)));
    check(
        (s, in) ->
            s.add(Pad.V2, in.getFirst(), paddings(s), Const.of(s, DType.DOUBLE, 3)).output());
    check((s, in) -> Tile.of(s, in.getFirst(), 2, 1, 3));
    GradientCheck.check(
        (s, in) -> BroadcastTo.of(s, in.getFirst(), Const.ints(s, 2, 3, 4)),
        random(Shape.of(3, 1), 1));
    GradientCheck.check(
        (s, in) -> Fill.of(s, Const.ints(s, 2, 3), in.getFirst()), Tensor.scalar(0.5));
  }

  private static Output paddings(Scope s) {
    return Const.of(s, Tensor.of(Shape.of(3, 2), 0, 1, 2, 0, 1, 1));
  }

  @Test
  void choosing() {
    Tensor y = random(Shape.of(3, 1), 2);
    Tensor c = Tensor.of(Shape.of(4), true, false, true, true);
    GradientCheck.check((s, in) -> Select.of(s, Const.of(s, c), in.get(0), in.get(1)), X, y);
    Tensor rows = Tensor.of(Shape.of(2), true, false);
    GradientCheck.check(
        (s, in) -> s.add(Select.V1, Const.of(s, rows), in.get(0), in.get(1)).output(),
        X,
        random(X.shape(), 3));
  }

  @Test
  void gathering() {
    Tensor rows = Tensor.of(Shape.of(2, 2), 1, 0, 1, 1);
    check((s, in) -> Gather.of(s, in.getFirst(), Const.of(s, rows)));
    check((s, in) -> s.add(Gather.V1, in.getFirst(), Const.of(s, rows)).output());
    for (int axis : new int[] {1, 2, -1}) {
      GradientCheck.checkKnownRank(
          (s, in) -> Gather.of(s, in.getFirst(), Const.of(s, rows), axis), X);
      GradientCheck.checkKnownRank(
          (s, in) ->
              s.node(Gather.OP)
                  .input(in.getFirst())
                  .input(Const.of(s, rows))
                  .input(Const.of(s, axis))
                  .attr("batch_dims", 1)
                  .add()
                  .output(),
          X);
    }
    Tensor at = Tensor.of(Shape.of(3, 2), 0, 2, 1, 1, 0, 2);
    check((s, in) -> GatherNd.of(s, in.getFirst(), Const.of(s, at)));
    GradientCheck.check(
        (s, in) -> ScatterNd.of(s, Const.of(s, at), in.getFirst(), Const.ints(s, 2, 3)),
        random(Shape.of(3), 4));
  }

  @Test
  void segmentsAndPartitions() {
    Tensor ids = Tensor.of(Shape.of(2, 3), 1, 0, 3, 1, -1, 0);
    check((s, in) -> SegmentSum.unsorted(s, in.getFirst(), Const.of(s, ids), Const.of(s, 4)));
    check((s, in) -> s.add(SegmentSum.OP, in.getFirst(), Const.ints(s, 0, 2)).output());
    Tensor parts = Tensor.of(Shape.of(2, 3), 1, 0, 2, 1, 1, 0);
    check((s, in) -> Concat.of(s, DynamicPartition.of(s, in.getFirst(), Const.of(s, parts), 3), 0));
    GradientCheck.check(
        (s, in) -> DynamicStitch.of(s, List.of(Const.ints(s, 2, 0), Const.ints(s, 1, 3, 4)), in),
        random(Shape.of(2, 2), 1),
        random(Shape.of(3, 2), 2));
  }

  @Test
  void sparseAndSorted() {
    GradientCheck.check(
        (s, in) ->
            SparseToDense.of(
                s,
                Const.of(s, Tensor.of(Shape.of(2, 2), 0, 1, 1, 2)),
                Const.ints(s, 2, 3),
                in.get(0),
                in.get(1)),
        random(Shape.of(2), 1),
        Tensor.scalar(0.5));
    check((s, in) -> TopK.of(s, in.getFirst(), 2).output(0));
  }

  @Test
  void whatOnlyHandsOn() {
    check((s, in) -> s.add(Plumbing.SNAPSHOT, in.getFirst()).output());
    check((s, in) -> s.node(Plumbing.IDENTITY_N).inputs(in).add().output(0));
    check((s, in) -> Checks.finite(s, in.getFirst(), "x"));
    check((s, in) -> Placeholder.withDefault(s, in.getFirst(), Shape.unknown()));
  }
}
