package dev.millrace.ring;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.Ring;
import dev.millrace.graph.Node;
import dev.millrace.runtime.LocalSession;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.hook.SessionFactory;
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
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
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

  /** The steps of a rank of two, in a session that counts itself. */
  private static void trainForEver(Ring ring, AtomicInteger sessions, Runnable afterStep) {
    TinyModel m = TinyModel.in(RingOps.newGraph(ring), 5);
    GraphVariable step = GlobalStep.of(VariableScope.of(m.scope()));
    Node train =
        new DistributedOptimizer(ring, new GradientDescent(.5f))
            .minimize(m.scope(), m.loss(), step);
    SessionFactory counted =
        graph -> {
          sessions.incrementAndGet();
          return new LocalSession(graph);
        };
    TrainingSettings settings = RingSettings.of(ring, m.scope(), TrainingSettings.DEFAULT);
    try (MonitoredTrainingSession session =
            MonitoredTrainingSession.start(m.scope(), counted, settings);
        Tensor x = TinyModel.features(1, 0, 3);
        Tensor y = TinyModel.labels(1, 0, 3)) {
      while (true) {
        session.run(Map.of(m.x(), x, m.y(), y), List.of(), List.of(train));
        afterStep.run();
      }
    }
  }

  /** In a process of its own: rank 1 of the job that is named, until it is killed. */
  public static void main(String[] args) {
    try (Ring ring = Ring.init(Ranks.settings(1, 2, args[0]))) {
      trainForEver(ring, new AtomicInteger(), () -> {});
    }
  }

  /** A rank is killed: the other fails at once, by name, and makes no new session. */
  // README claim: hang-ring
  @Test
  void lostRankEndsTraining() throws Exception {
    String job = "test-" + UUID.randomUUID();
    AtomicInteger sessions = new AtomicInteger();
    Process other =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-modules=jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                RingSettingsTest.class.getName(),
                job)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try (Ring ring = Ring.init(Ranks.settings(0, 2, job))) {
      int[] steps = {0};
      Runnable killAfterThree =
          () -> {
            if (++steps[0] == 3) {
              other.destroyForcibly();
            }
          };
      MillraceException e =
          assertThrows(MillraceException.class, () -> trainForEver(ring, sessions, killAfterThree));
      assertEquals(Code.UNAVAILABLE, e.code(), e.getMessage());
      assertTrue(
          e.getMessage().startsWith("Training ends: a task was lost and cannot rejoin."),
          e.getMessage());
      assertTrue(e.getMessage().contains("ank 1"), e.getMessage());
      assertEquals(1, sessions.get(), "sessions made");
    } finally {
      other.destroyForcibly();
    }
  }
}
