package dev.millrace.job;

import dev.millrace.graph.Output;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.nn.Activations;
import dev.millrace.tensor.DType;
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
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** A small model of clicks as a program would have it: numbers, categories, embeddings. */
final class Click {
  static final int NUMBERS = 13;
  static final int CATEGORIES = 26;
  static final int VALUES = 20;

  private Click() {}

  /** A job whose examples are counted in {@code trained}, by their numbers. */
  static Job job(AtomicIntegerArray trained) {
    return Job.named("click")
        .model(Click::build)
        .train(() -> data(trained.length(), 1))
        .evaluate(() -> data(200, 2))
        .optimizer(c -> new Adam(c.cosineDecay(.02), Adam.Settings.DEFAULT))
        .batchSize(20)
        .hook(model -> new Counting(model.predictions().get("number"), trained));
  }

  static Model build(ModelBuilder m) {
    Output ids = m.input(2);
    Output rows = m.embedding("categories", ids, (long) CATEGORIES * VALUES, 4);
    Output flat = Reshape.of(m.scope(), rows, Shape.of(-1, CATEGORIES * 4));
    Output x = Concat.of(m.scope(), List.of(m.input(1), flat), 1);
    Output logits = m.dense("out", m.dense("hidden", x, 16, Activations::relu), 2);
    Output label = Cast.of(m.scope(), m.input(3), DType.INT64);
    return Model.minimizing(Losses.sparseSoftmaxCrossEntropy(m.scope(), logits, label))
        .metric("accuracy", Metrics.accuracy(m.scope(), logits, label))
        .prediction("logits", logits)
        .prediction("number", m.input(0));
  }

  /** Clicks that depend on the first number and the first category. */
  static Dataset data(int n, long seed) {
    return Datasets.generated(n, i -> example(i, seed)).shuffle(50, seed);
  }

  private static Tensor[] example(int i, long seed) {
    SplittableRandom random = new SplittableRandom(seed * 1_000_003 + i);
    float[] numbers = new float[NUMBERS];
    for (int c = 0; c < NUMBERS; c++) {
      numbers[c] = (float) random.nextDouble(-1, 1);
    }
    int[] ids = new int[CATEGORIES];
    for (int c = 0; c < CATEGORIES; c++) {
      ids[c] = c * VALUES + random.nextInt(VALUES);
    }
    int label = numbers[0] + (ids[0] % 2 == 0 ? .5 : -.5) > 0 ? 1 : 0;
    return new Tensor[] {
      Tensor.scalar(i), Tensor.vector(numbers), Tensor.vector(ids), Tensor.scalar(label)
    };
  }

  /** Counts what is trained. */
  private record Counting(Output number, AtomicIntegerArray trained) implements SessionRunHook {
    @Override
    public SessionRunArgs beforeRun(SessionRunContext context) {
      return SessionRunArgs.fetching(number);
    }

    @Override
    public void afterRun(SessionRunContext context, SessionRunValues values) {
      for (int i : values.value(number).toInts()) {
        trained.incrementAndGet(i);
      }
    }
  }
}
