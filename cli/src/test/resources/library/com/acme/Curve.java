package com.acme;

import dev.millrace.graph.Output;
import dev.millrace.job.Job;
import dev.millrace.job.Model;
import dev.millrace.job.ModelBuilder;
import dev.millrace.ops.nn.Activations;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Metrics;
import java.util.SplittableRandom;

/** Learns which points of the plane are above the sine. */
public final class Curve {
  public static void main(String[] args) {
    Job.named("curve")
        .model(Curve::build)
        .train(() -> points(20_000, 1))
        .evaluate(() -> points(2_000, 2))
        .epochs(5)
        .run(args);
  }

  private static Dataset points(int n, long seed) {
    return Datasets.generated(
        n,
        i -> {
          SplittableRandom random = new SplittableRandom(seed * 1_000_000 + i);
          float x = (float) random.nextDouble(-3, 3);
          float y = (float) random.nextDouble(-1, 1);
          return new Tensor[] {Tensor.vector(x, y), Tensor.scalar(y > Math.sin(x) ? 1L : 0L)};
        });
  }

  private static Model build(ModelBuilder m) {
    Output hidden = m.dense("hidden", m.input(0), 32, Activations::relu);
    Output logits = m.dense("above", hidden, 2);
    Output above = m.input(1);
    return Model.minimizing(Losses.sparseSoftmaxCrossEntropy(m.scope(), logits, above))
        .metric("accuracy", Metrics.accuracy(m.scope(), logits, above));
  }
}
