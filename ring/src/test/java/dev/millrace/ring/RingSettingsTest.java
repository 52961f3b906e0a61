package dev.millrace.ring;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Node;
import dev.millrace.runtime.LocalSession;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ranks train in monitored sessions of their own. */
class RingSettingsTest {
  @TempDir Path folder;

  /** Trains to step {@code last}; each rank's first and last steps and its last weights. */
  private List<double[]> train(int ranks, long last) {
    return Ranks.run(
        ranks,
        ring -> {
          TinyModel m = TinyModel.in(RingOps.newGraph(ring), 5 + ring.rank());
          GraphVariable step = GlobalStep.of(VariableScope.of(m.scope()));
          Node train =
              new DistributedOptimizer(ring, new GradientDescent(.5f))
                  .minimize(m.scope(), m.loss(), step);
          List<GraphVariable> all = Variables.global(m.scope().graph());
          TrainingSettings settings =
              RingSettings.of(
                  ring,
                  m.scope(),
                  TrainingSettings.DEFAULT
                      .withFolder(folder)
                      .withSaveEverySteps(100)
                      .withHooks(StopAtStepHook.at(step, last), new ParameterCheck(ring, all, 1)));
          long first;
          double[] weights;
          try (MonitoredTrainingSession session =
              MonitoredTrainingSession.start(m.scope(), LocalSession::new, settings)) {
            first = session.raw().fetch(step.read()).longValue();
            int from = 3 * ring.rank();
            Tensor x = TinyModel.features(1, from, from + 3);
            Tensor y = TinyModel.labels(1, from, from + 3);
            weights = new double[0];
            while (!session.shouldStop()) {
              session.run(Map.of(m.x(), x, m.y(), y), List.of(), List.of(train));
              weights = session.raw().fetch(all.getFirst().read()).toDoubles();
            }
          }
          double[] seen = new double[1 + weights.length];
          seen[0] = first;
          System.arraycopy(weights, 0, seen, 1, weights.length);
          return seen;
        });
  }

  @Test
  void rankZeroSavesAndAllGoOnFromThere() {
    List<double[]> once = train(2, 3);
    assertEquals(0, once.getFirst()[0]);
    assertArrayEquals(once.getFirst(), once.getLast());
    // More ranks than before: they have nothing to restore but what rank 0 has.
    List<double[]> again = train(3, 5);
    for (double[] seen : again) {
      assertEquals(3, seen[0]);
      assertArrayEquals(again.getFirst(), seen);
    }
  }
}
