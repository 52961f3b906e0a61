package dev.millrace.interop.job;

import dev.millrace.graph.Output;
import dev.millrace.job.Job;
import dev.millrace.job.Model;
import dev.millrace.job.ModelBuilder;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.nn.Activations;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.csv.CsvFiles;
import dev.millrace.train.data.csv.CsvSchema;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.optimizer.Adam;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The click model of {@code millrace new}, with as many columns as the data sets of real ads: 13
 * numbers, and 26 categories with an embedding each. {@code ctr.py} is the same for TensorFlow.
 */
final class ClickModel {
  static final int NUMBERS = 13;
  static final int CATEGORIES = 26;

  /** The ids of each category. */
  static final int IDS = 10_000;

  private static final int WIDTH = 8;
  private static final int HIDDEN = 64;

  private ClickModel() {}

  static void main(String[] args) {
    Job.named("clicks")
        .model(ClickModel::build)
        .train(flags -> CsvFiles.read(columns(), List.of(flags.path("data"))).shuffle(10_000, 1))
        .optimizer(c -> new Adam(c.constant(.001), Adam.Settings.DEFAULT))
        .batchSize(256)
        .flag("data", Path.of("train.csv"), "The file to train on.")
        .run(args);
  }

  private static CsvSchema columns() {
    List<Column> all = new ArrayList<>();
    all.add(Column.of("click", DType.INT64));
    for (int i = 0; i < NUMBERS; i++) {
      all.add(Column.of("n" + i, DType.FLOAT));
    }
    for (int i = 0; i < CATEGORIES; i++) {
      all.add(Column.of("c" + i, DType.INT64));
    }
    return CsvSchema.of(all.toArray(Column[]::new)).withHeader();
  }

  private static Model build(ModelBuilder m) {
    List<Output> parts = new ArrayList<>();
    for (int i = 1; i <= NUMBERS; i++) {
      parts.add(Reshape.of(m.scope(), m.input(i), Shape.of(-1, 1)));
    }
    for (int i = 0; i < CATEGORIES; i++) {
      parts.add(m.embedding("c" + i, m.input(1 + NUMBERS + i), IDS, WIDTH));
    }
    Output features = Concat.of(m.scope(), parts, 1);
    Output hidden = m.dense("hidden", features, HIDDEN, Activations::relu);
    Output logits = m.dense("click", hidden, 2);
    return Model.minimizing(Losses.sparseSoftmaxCrossEntropy(m.scope(), logits, m.input(0)));
  }
}
