package dev.millrace.train.layers;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.runtime.LocalSession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.metric.GoldenNumbers;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Losses and their gradients against TensorFlow's. */
@Timeout(60)
class LossesTest {
  private static final GoldenNumbers GOLDEN = new GoldenNumbers(LossesTest.class, "losses.txt");
  private static final Shape SHAPE = Shape.of(6, 5);

  private interface Loss {
    Output of(Scope scope, Output logits, Output answers);
  }

  private static void assertGolden(String name, String answers, Loss loss) {
    Scope s = Scope.of(new Graph(StandardOps.registry()));
    Output x = Const.of(s, Tensor.of(SHAPE, GOLDEN.row("logits")));
    Output z = Const.of(s, Tensor.of(SHAPE, GOLDEN.row(answers)));
    Output y = loss.of(s, x, z);
    Grad.Dense dx = (Grad.Dense) Gradients.of(s, List.of(y), List.of(x)).getFirst();
    try (LocalSession session = new LocalSession(s.graph());
        Tensor value = session.fetch(y);
        Tensor gradient = session.fetch(dx.value())) {
      assertEquals(GOLDEN.number(name), value.doubleValue(), 1e-9, name);
      assertArrayEquals(
          GOLDEN.row(name + ".gradient"), gradient.toDoubles(), 1e-9, name + " gradient");
    }
  }

  @Test
  void lossesOfYesOrNoAnswersAreTensorFlows() {
    assertGolden("sigmoid_cross_entropy", "labels", Losses::sigmoidCrossEntropy);
    assertGolden("hinge", "labels", Losses::hinge);
    assertGolden("focal", "labels", (s, x, z) -> Losses.sigmoidFocal(s, x, z, 2));
    assertGolden("focal.alpha", "labels", (s, x, z) -> Losses.sigmoidFocal(s, x, z, 1.5, .25));
  }

  @Test
  void lossesOfValuesAreTensorFlows() {
    assertGolden("huber", "labels", (s, x, z) -> Losses.huber(s, x, z, 1.5));
    assertGolden("mean_absolute_error", "labels", Losses::meanAbsoluteError);
  }

  @Test
  void rankingLossesFollowTheirDefinition() {
    assertGolden("pairwise", "relevances", RankingLosses::pairwiseLogistic);
    assertGolden("listwise", "relevances", RankingLosses::listwiseSoftmax);
  }

  @Test
  void rankingLossesAreZeroWithoutRelevantItems() {
    Scope s = Scope.of(new Graph(StandardOps.registry()));
    double[] padding = new double[30];
    Arrays.fill(padding, -1);
    Output x = Const.of(s, Tensor.of(SHAPE, GOLDEN.row("logits")));
    Output z = Const.of(s, Tensor.of(SHAPE, padding));
    try (LocalSession session = new LocalSession(s.graph());
        Tensor pairwise = session.fetch(RankingLosses.pairwiseLogistic(s, x, z));
        Tensor listwise = session.fetch(RankingLosses.listwiseSoftmax(s, x, z))) {
      assertEquals(0, pairwise.doubleValue());
      assertEquals(0, listwise.doubleValue());
    }
  }

  @Test
  void columnAgainstVectorIsRefused() {
    Scope s = Scope.of(new Graph(StandardOps.registry()));
    Output column = Placeholder.of(s.withName("column"), DType.FLOAT, Shape.of(-1, 1));
    Output vector = Placeholder.of(s.withName("vector"), DType.FLOAT, Shape.of(-1));
    MillraceException e =
        assertThrows(MillraceException.class, () -> Losses.sigmoidCrossEntropy(s, column, vector));
    assertTrue(e.getMessage().contains("they must be the same"), e.getMessage());
  }
}
