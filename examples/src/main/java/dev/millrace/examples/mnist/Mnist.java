package dev.millrace.examples.mnist;

import dev.millrace.graph.Output;
import dev.millrace.job.Job;
import dev.millrace.job.Model;
import dev.millrace.job.ModelBuilder;
import dev.millrace.job.OptimizerContext;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Metrics;
import dev.millrace.train.optimizer.Optimizer;
import java.nio.file.Path;

/** A job that trains networks to tell digits apart: what {@code millrace train mnist} runs. */
public final class Mnist {
  private Mnist() {}

  /** Runs one process of the job. */
  public static void main(String[] args) {
    job().run(args);
  }

  /** The job. */
  public static Job job() {
    return Job.named("mnist")
        .model(Mnist::build)
        .train(flags -> data(flags, "train"))
        .evaluate(flags -> data(flags, "t10k"))
        .optimizer(Mnist::optimizer)
        .batchSize(100)
        .epochs(flags -> flags.choice("model", Network.class).usualEpochs())
        .flag("model", Network.MLP, "The network.")
        .flag("optimizer", Method.ADAM, "How the loss is made smaller.")
        .flag("data-dir", Path.class, "A folder with the four IDX files; else the bundled ones.");
  }

  private static Model build(ModelBuilder m) {
    Output logits = m.flags().choice("model", Network.class).logits(m.variables(), m.input(0));
    return Model.minimizing(Losses.sparseSoftmaxCrossEntropy(m.scope(), logits, m.input(1)))
        .metric("accuracy", Metrics.accuracy(m.scope(), logits, m.input(1)))
        .prediction("logits", logits);
  }

  /** Steps get smaller towards the end, along half a wave of the cosine. */
  private static Optimizer optimizer(OptimizerContext c) {
    Method method = c.flags().choice("optimizer", Method.class);
    return method.optimizer(c.cosineDecay(method.usualRate()));
  }

  private static Dataset data(ProgramFlags flags, String part) {
    MnistImages images = new MnistImages(flags.path("data-dir"), part, flags.longInteger("seed"));
    images.check(flags.integer("batch-size"));
    return images;
  }
}
