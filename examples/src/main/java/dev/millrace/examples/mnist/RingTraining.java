package dev.millrace.examples.mnist;

import dev.millrace.base.MillraceException;
import dev.millrace.collective.Ring;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ring.DistributedOptimizer;
import dev.millrace.ring.LearningRateScaling;
import dev.millrace.ring.MetricAverage;
import dev.millrace.ring.ParameterCheck;
import dev.millrace.ring.RingOps;
import dev.millrace.ring.RingSettings;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Metrics;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The digits learnt by several processes without a parameter server. Every process runs this
 * program, under {@code millrace launch -np 4 -- java ... RingTraining}, under {@code mpirun -np 4
 * java ...} or alone:
 *
 * <pre>
 * RingTraining [--model mlp] [--steps 1000] [--batch-size 100] [--learning-rate 0.05] [--folder F]
 * </pre>
 *
 * <p>The steps are shared out: {@code n} ranks do one {@code n}-th of them each, on batches that
 * together are {@code n} times as large. Rank 0 keeps checkpoints in the folder, and training goes
 * on from there.
 */
public final class RingTraining {
  private static final int WARM_UP_STEPS = 50;
  private static final int CHECK_EVERY_STEPS = 100;
  private static final int TEST_BATCH = 500;

  private final Ring ring;
  private final long steps;
  private final int batchSize;
  private final Path folder;
  private final Scope scope;

  private final Output images;
  private final Output labels;
  private final Output loss;
  private final Output accuracy;
  private final GraphVariable step;
  private final Node train;

  private RingTraining(Ring ring, Map<String, String> options) {
    this.ring = ring;
    this.steps = Long.parseLong(options.get("--steps")) / ring.size();
    this.batchSize = Integer.parseInt(options.get("--batch-size"));
    float rate = Float.parseFloat(options.get("--learning-rate"));
    this.folder = options.get("--folder").isEmpty() ? null : Path.of(options.get("--folder"));
    this.scope = Scope.of(RingOps.newGraph(ring));
    VariableScope model = VariableScope.of(scope);
    images = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, MnistData.PIXELS));
    labels = Placeholder.of(scope, DType.INT64, Shape.of(-1));
    Output logits = network(options.get("--model")).logits(model, images);
    loss = Losses.sparseSoftmaxCrossEntropy(scope, logits, labels);
    accuracy = Metrics.accuracy(scope, logits, labels);
    step = GlobalStep.of(model);
    Output warmedUp = LearningRateScaling.warmUp(scope, ring, rate, step, WARM_UP_STEPS);
    train =
        new DistributedOptimizer(ring, new GradientDescent(warmedUp)).minimize(scope, loss, step);
  }

  private static Network network(String name) {
    for (Network n : Network.values()) {
      if (n.toString().equals(name)) {
        return n;
      }
    }
    throw MillraceException.invalid(
        "There is no model '%s'; there are %s.", name, List.of(Network.values()));
  }

  /** Runs one rank. Exit codes: 0 success, 1 failure. */
  public static void main(String[] args) {
    int code = 0;
    try (Ring ring = Ring.init()) {
      try {
        new RingTraining(ring, options(args)).run();
      } catch (RuntimeException e) {
        ring.abort(e);
        System.err.println("rank " + ring.rank() + ": " + e.getMessage());
        code = 1;
      }
    }
    System.exit(code);
  }

  private static Map<String, String> options(String[] args) {
    Map<String, String> options = new java.util.TreeMap<>();
    options.put("--model", "mlp");
    options.put("--folder", "");
    options.putAll(Map.of("--steps", "1000", "--batch-size", "100", "--learning-rate", "0.05"));
    for (int i = 0; i < args.length; i += 2) {
      if (i + 1 == args.length || options.replace(args[i], args[i + 1]) == null) {
        throw MillraceException.invalid(
            "'%s' is not understood; there are %s, each with a value.", args[i], options.keySet());
      }
    }
    return options;
  }

  private void run() {
    List<GraphVariable> all = Variables.global(scope.graph());
    TrainingSettings settings =
        RingSettings.of(ring, scope, TrainingSettings.DEFAULT.withFolder(folder))
            .withHooks(
                StopAtStepHook.at(step, steps), new ParameterCheck(ring, all, CHECK_EVERY_STEPS));
    try (MonitoredTrainingSession session =
        MonitoredTrainingSession.start(scope, LocalSession::new, settings)) {
      train(session);
      double mean = MetricAverage.of(ring, "accuracy", evaluate(session.raw()));
      if (ring.rank() == 0) {
        System.out.printf(
            Locale.ROOT, "%d ranks, test accuracy %.2f %%%n", ring.size(), mean * 100);
      }
    }
  }

  private void train(MonitoredTrainingSession session) {
    MnistData.Batches batches = MnistData.train(null).batches(batchSize, 1 + ring.rank());
    Progress progress = new Progress(System.out, steps);
    AtomicLong done = new AtomicLong(session.raw().fetch(step.read()).longValue());
    batches.skip(done.get());
    session.loop(
        s -> {
          Tensor[] batch = batches.next();
          Map<Output, Tensor> feeds = Map.of(images, batch[0], labels, batch[1]);
          try (Tensor own = s.run(feeds, List.of(loss), List.of(train)).getFirst()) {
            done.incrementAndGet();
            if (ring.rank() == 0) {
              progress.step(done.get(), own.doubleValue());
            }
          }
          batch[0].close();
          batch[1].close();
        });
    if (ring.rank() == 0) {
      progress.end(done.get());
    }
  }

  /** The accuracy on this rank's share of the test images. */
  private double evaluate(Session session) {
    MnistData test = MnistData.test(null);
    int share = test.size() / ring.size();
    int batches = Math.max(1, share / TEST_BATCH);
    double sum = 0;
    for (int i = 0; i < batches; i++) {
      int from = ring.rank() * share + i * TEST_BATCH;
      int count = Math.min(TEST_BATCH, share);
      try (Tensor x = test.images(from, count);
          Tensor y = test.labels(from, count);
          Tensor a = session.fetch(accuracy, Map.of(images, x, labels, y))) {
        sum += a.doubleValue();
      }
    }
    return sum / batches;
  }
}
