package com.example;

import dev.millrace.graph.Output;
import dev.millrace.job.Job;
import dev.millrace.job.Model;
import dev.millrace.job.ModelBuilder;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.nn.Activations;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.csv.CsvFiles;
import dev.millrace.train.data.csv.CsvSchema;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Metrics;
import dev.millrace.train.optimizer.Adam;
import java.nio.file.Path;
import java.util.List;

/** Predicts clicks on ads from three numbers and three categories. */
public final class Ctr {
  private static final CsvSchema COLUMNS =
      CsvSchema.of(
              Column.of("click", DType.INT64),
              Column.of("hour", DType.FLOAT),
              Column.of("price", DType.FLOAT),
              Column.of("age", DType.FLOAT),
              Column.of("site", DType.INT64),
              Column.of("ad", DType.INT64),
              Column.of("device", DType.INT64))
          .withHeader();

  public static void main(String[] args) {
    job().run(args);
  }

  static Job job() {
    return Job.named("@name@")
        .model(Ctr::build)
        .train(flags -> data(flags, "train.csv").shuffle(10_000, 1))
        .evaluate(flags -> data(flags, "test.csv"))
        .optimizer(c -> new Adam(c.cosineDecay(.01), Adam.Settings.DEFAULT))
        .batchSize(64)
        .epochs(2)
        .flag("data", Path.of("data"), "The folder with train.csv and test.csv.");
  }

  private static Dataset data(ProgramFlags flags, String file) {
    return CsvFiles.read(COLUMNS, List.of(flags.path("data").resolve(file)));
  }

  /** Numbers and embeddings side by side, one hidden layer, two classes. */
  private static Model build(ModelBuilder m) {
    Output features =
        m.concat(
            number(m, 1),
            number(m, 2),
            number(m, 3),
            m.embedding("site", m.input(4), 100, 8),
            m.embedding("ad", m.input(5), 500, 8),
            m.embedding("device", m.input(6), 5, 2));
    Output hidden = m.dense("hidden", features, 32, Activations::relu);
    Output logits = m.dense("click", hidden, 2);
    Output click = m.input(0);
    return Model.minimizing(Losses.sparseSoftmaxCrossEntropy(m.scope(), logits, click))
        .metric("accuracy", Metrics.accuracy(m.scope(), logits, click))
        .prediction("logits", logits);
  }

  private static Output number(ModelBuilder m, int column) {
    return Reshape.of(m.scope(), m.input(column), Shape.of(-1, 1));
  }
}
