package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.job.Job;
import dev.millrace.job.JobResult;
import dev.millrace.job.Model;
import dev.millrace.job.ModelBuilder;
import dev.millrace.job.OptimizerContext;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.nn.Activations;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Metrics;
import dev.millrace.train.optimizer.Adam;
import dev.millrace.train.optimizer.LearningRates;
import dev.millrace.train.optimizer.Momentum;
import dev.millrace.train.session.MonitoredTrainingSession;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of your-own-model.md. */
class YourOwnModelTest {
  @TempDir Path folder;

  private final List<Double> seen = new ArrayList<>();

  /** Clicks that depend on the price and the ad. */
  private static Dataset clicks(int n) {
    return Datasets.generated(
        n,
        i ->
            new Tensor[] {
              Tensor.scalar((long) ((i / 10 + i) % 2)),
              Tensor.scalar(i / 10 % 2 / 1f),
              Tensor.scalar((long) (i % 10))
            });
  }

  private static Dataset clicks(Path file) {
    return clicks(file.endsWith("train.csv") ? 400 : 100);
  }

  private static Job job() {
    // sample job
    return Job.named("clicks")
        .model(YourOwnModelTest::build)
        .train(flags -> clicks(flags.path("data").resolve("train.csv")).shuffle(400, 1))
        .evaluate(flags -> clicks(flags.path("data").resolve("test.csv")))
        .optimizer(c -> new Adam(c.cosineDecay(.01), Adam.Settings.DEFAULT))
        .batchSize(20)
        .epochs(2)
        .flag("data", Path.of("data"), "The folder with train.csv and test.csv.")
        .flag("hidden", 8, "Units of the hidden layer.");
    // end
  }

  // sample model
  private static Model build(ModelBuilder m) {
    Output click = m.input(0);
    Output price = Reshape.of(m.scope(), m.input(1), Shape.of(-1, 1));
    Output ad = m.embedding("ad", m.input(2), 10, 4);
    Output hidden =
        m.dense("hidden", m.concat(price, ad), m.flags().integer("hidden"), Activations::relu);
    Output logits = m.dense("click", m.dropout(hidden, .1f), 2);
    return Model.minimizing(Losses.sparseSoftmaxCrossEntropy(m.scope(), logits, click))
        .metric("accuracy", Metrics.accuracy(m.scope(), logits, click))
        .prediction("logits", logits);
  }

  // end

  @Test
  void aJobTrainsOnAClusterInOneProcess() {
    // sample test
    JobResult result = job().start("--mode=async", "--ps=1", "--workers=2", "--steps=40");
    assertTrue(result.metrics().get("accuracy") > .4, result.line());
    // end
    assertTrue(result.step() >= 40, result.line());
  }

  @Test
  void theBestModelIsKept() {
    Job job = job();
    // sample best
    job.keepHighest("accuracy")
        .evaluateEvery(10)
        .patience(1000)
        .onEvaluation((step, metrics) -> seen.add(metrics.get("accuracy")));
    // end
    job.start("--log-dir=" + folder, "--steps=30");
    assertEquals(3, seen.size());
    assertTrue(Files.exists(folder.resolve("best/best.json")));
    assertTrue(Files.exists(folder.resolve("result.json")));
  }

  @Test
  void theOptimizerIsAnyOfThem() {
    Job job = job();
    // sample optimizer
    job.optimizer(
        (OptimizerContext c) -> {
          Output rate =
              LearningRates.exponentialDecay(
                  c.scope(), c.rate(.1), c.globalStep(), 1000, .5f, false);
          return new Momentum(
              LearningRates.warmUp(c.scope(), rate, c.globalStep(), 100), .9f, false);
        });
    // end
    assertEquals(10, job.start("--steps=10").step());
  }

  @Test
  void aModelHasSeveralLosses() {
    Job job = job();
    // sample losses
    job.model(
        m -> {
          Output shared =
              m.dense("shared", m.embedding("ad", m.input(2), 10, 4), 8, Activations::relu);
          Output logits = m.dense("click", shared, 2);
          Output price = Reshape.of(m.scope(), m.dense("price", shared, 1), Shape.of(-1));
          Output clicks = Losses.sparseSoftmaxCrossEntropy(m.scope(), logits, m.input(0));
          Output prices = Losses.meanSquaredError(m.scope(), price, m.input(1));
          return Model.minimizing(Arithmetic.add(m.scope(), clicks, prices))
              .metric("click_loss", clicks)
              .metric("price_loss", prices);
        });
    // end
    assertTrue(job.start("--steps=10").metrics().containsKey("price_loss"));
  }

  // sample hook
  /** Counts examples by their predicted class. */
  private static final class Predictions implements SessionRunHook {
    private final Output logits;
    private final long[] counts = new long[2];

    Predictions(Model model) {
      logits = model.predictions().get("logits");
    }

    @Override
    public SessionRunArgs beforeRun(SessionRunContext context) {
      return SessionRunArgs.fetching(logits);
    }

    @Override
    public void afterRun(SessionRunContext context, SessionRunValues values) {
      Tensor batch = values.value(logits);
      for (int i = 0; i < batch.elements(); i += 2) {
        counts[batch.doubleAt(i) > batch.doubleAt(i + 1) ? 0 : 1]++;
      }
    }
  }

  // end

  @Test
  void aHookSeesEveryStep() {
    List<Predictions> made = new ArrayList<>();
    Job job = job();
    job.hook(
        model -> {
          made.add(new Predictions(model));
          return made.getFirst();
        });
    job.start("--steps=10");
    long[] counts = made.getFirst().counts;
    assertEquals(200, counts[0] + counts[1]);
  }

  // sample loop
  private static void train(MonitoredTrainingSession session, Node step, Model model) {
    session.loop(
        s -> {
          try (Tensor loss = s.run(Map.of(), List.of(model.loss()), List.of(step)).getFirst()) {
            if (loss.floatValue() < .01f) {
              s.requestStop();
            }
          }
        });
  }

  // end

  @Test
  void aProgramHasItsOwnLoop() {
    assertEquals(40, job().loop(YourOwnModelTest::train).start().step());
  }
}
