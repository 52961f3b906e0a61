package dev.millrace.ops.array;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.List;
import org.junit.jupiter.api.Test;

class ShapeInferenceTest {
  private final Scope s = Scope.of(StandardOps.newGraph());
  private final Output x = Placeholder.of(s, DType.FLOAT, Shape.of(-1, 28, 28, 3));
  private final Output shape = ShapeOf.of(s, x);

  @Test
  void dimensionsThatAreKnownSurviveSlicingAndJoining() {
    Output batch = StridedSlice.at(s, shape, 0);
    Output width = StridedSlice.at(s, shape, 2);
    Output to = Pack.of(s, List.of(batch, Const.of(s, 28), width, Const.of(s, 3)));
    Output y = Fill.of(s, to, Const.of(s, 1f));
    assertEquals(Shape.of(-1, 28, 28, 3), y.shape());
    Output joined = Concat.of(s, List.of(StridedSlice.range(s, shape, 0, 2), Const.ints(s, 7)), 0);
    assertEquals(Shape.of(-1, 28, 7), Fill.of(s, joined, Const.of(s, 1f)).shape());
  }

  @Test
  void flatteningKnowsTheFeatures() {
    Output features =
        Reduction.of(
            s, Reduction.PROD, StridedSlice.range(s, shape, 1, null), Const.ints(s, 0), false);
    Output flat = Reshape.of(s, x, Pack.of(s, List.of(Const.of(s, -1), features)));
    assertEquals(Shape.of(-1, 28 * 28 * 3), flat.shape());
  }

  @Test
  void arithmeticOnAnUnknownDimensionIsUnknown() {
    Output batch = StridedSlice.at(s, shape, 0);
    Output twice = Arithmetic.add(s, batch, batch);
    Output y = Fill.of(s, Pack.of(s, List.of(twice, Const.of(s, 2))), Const.of(s, 1f));
    assertEquals(Shape.of(-1, 2), y.shape());
  }

  @Test
  void minusOneInAConstantIsNotAnUnknown() {
    Output minus = Const.of(s, -1);
    Output sum = Reduction.sumAll(s, ExpandDims.of(s, x, minus));
    assertEquals(Shape.scalar(), sum.shape());
    Output last = Concat.of(s, List.of(Const.ints(s, 1), Const.ints(s, -1)), 0);
    assertEquals(Shape.of(-1, 28), Reduction.sum(s, x, last, false).shape());
  }
}
