package dev.millrace.train.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.runtime.LocalSession;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.hook.SmallCluster;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.LineModel;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the line becomes depends on every number it sees and on their order. */
@Timeout(120)
class InputFeedTest {
  private static final long STEPS = 12;
  private static final Dataset NUMBERS =
      Datasets.generated(7, i -> new Tensor[] {Tensor.of(Shape.scalar(), .1f + .1f * i)})
          .shuffle(4, 1)
          .batch(2, true)
          .repeat()
          .prefetch(2);

  private static final Dataset ONCE =
      Datasets.generated(6, i -> new Tensor[] {Tensor.of(Shape.scalar(), 1f + i)}).batch(2, true);

  @TempDir private Path folder;

  private static float train(
      LineModel m,
      Dataset data,
      SessionFactory sessions,
      Path folder,
      long last,
      Runnable[] after) {
    InputFeed feed = new InputFeed(m.scope, data, List.of(m.x), 0, 1);
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withFolder(folder)
            .withSaveEverySteps(4)
            .withLogEverySteps(0)
            .withMaxWait(Duration.ofSeconds(60))
            .withHooks(feed, StopAtStepHook.at(m.step, last));
    try (var s = MonitoredTrainingSession.start(m.scope, sessions, settings)) {
      s.loop(
          t -> {
            int made = (int) m.stepOf(t.raw());
            if (after[made] != null) {
              after[made].run();
              after[made] = null;
            }
            t.run(Map.of(), m.train);
          });
      return s.raw().fetch(m.w.read()).floatValue();
    }
  }

  private static Runnable[] nothing() {
    return new Runnable[(int) STEPS];
  }

  private static float undisturbed() {
    return train(new LineModel(), NUMBERS, LocalSession::new, null, STEPS, nothing());
  }

  @Test
  void trainingThatIsRestoredGoesOnWithTheDataThatFollows() {
    train(new LineModel(), NUMBERS, LocalSession::new, folder, 5, nothing());
    float w = train(new LineModel(), NUMBERS, LocalSession::new, folder, STEPS, nothing());
    assertEquals(undisturbed(), w);
  }

  @Test
  void lossOfTheModelTakesTheInputBackWithIt() {
    try (SmallCluster cluster = new SmallCluster(1, 1)) {
      LineModel m = new LineModel(cluster.placementOf(0), new GradientDescent(.05f));
      Runnable[] after = nothing();
      after[6] = () -> cluster.restartPs(0); // two steps behind the checkpoint
      float w = train(m, NUMBERS, cluster.sessionsOf(0), folder, STEPS, after);
      assertTrue(after[6] == null, "nothing was lost");
      assertEquals(undisturbed(), w);
    }
  }

  @Test
  void workerWithoutAnyDataFailsRatherThanBeDone() {
    for (Dataset none : List.of(ONCE.shard(4, 3), ONCE.batch(9, true))) {
      MillraceException e =
          assertThrows(
              MillraceException.class,
              () -> train(new LineModel(), none, LocalSession::new, null, STEPS, nothing()));
      assertEquals(Code.INVALID_ARGUMENT, e.code());
      assertTrue(e.getMessage().startsWith("The input of worker 0 is empty."), e.getMessage());
    }
  }

  @Test
  void endOfTheDataIsTheEndOfTraining() {
    LineModel m = new LineModel();
    train(m, ONCE, LocalSession::new, folder, STEPS, nothing());
    try (var s =
        MonitoredTrainingSession.start(
            m.scope, LocalSession::new, TrainingSettings.DEFAULT.withFolder(folder))) {
      assertEquals(3, m.stepOf(s.raw()));
    }
  }

  @Test
  void figuresOfATaskHaveItsExamples() {
    LineModel m = new LineModel();
    InputFeed feed = new InputFeed(m.scope, NUMBERS, List.of(m.x), 0, 1);
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withLogEverySteps(0)
            .withMaxWait(Duration.ofSeconds(60))
            .withHooks(feed, StopAtStepHook.at(m.step, 5));
    try (var s = MonitoredTrainingSession.start(m.scope, LocalSession::new, settings)) {
      s.loop(t -> t.run(Map.of(), m.train));
    }
    Map<String, Double> figures = new HashMap<>();
    feed.figures(figures::put);
    assertEquals(10, figures.get("input/examples"));
    assertTrue(figures.get("input/examples_per_sec") > 0, figures.toString());
  }
}
