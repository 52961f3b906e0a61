package dev.millrace.ring;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.variable.VariableScope;
import java.util.Random;

/** A classifier with one hidden layer, and data for it. */
record TinyModel(Scope scope, Output x, Output y, Output loss) {
  static final int FEATURES = 12;
  static final int CLASSES = 4;

  static TinyModel in(Graph graph, long seed) {
    graph.setSeed(seed);
    Scope scope = Scope.of(graph);
    VariableScope model = VariableScope.of(scope);
    Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.of(-1, FEATURES));
    Output y = Placeholder.of(scope.withName("y"), DType.INT64, Shape.of(-1));
    Output hidden =
        Dense.of(model, "hidden", x, 16, (s, in) -> s.node("Tanh").input(in).add().output());
    Output logits = Dense.of(model, "logits", hidden, CLASSES);
    return new TinyModel(scope, x, y, Losses.sparseSoftmaxCrossEntropy(scope, logits, y));
  }

  /** Rows {@code from} to {@code to} of the batch of a step. */
  static Tensor features(int step, int from, int to) {
    Random random = new Random(step);
    float[] all = new float[to * FEATURES];
    for (int i = 0; i < all.length; i++) {
      all[i] = (float) random.nextGaussian();
    }
    float[] rows = java.util.Arrays.copyOfRange(all, from * FEATURES, to * FEATURES);
    return Tensor.of(Shape.of(to - from, FEATURES), rows);
  }

  static Tensor labels(int step, int from, int to) {
    long[] labels = new long[to - from];
    for (int i = from; i < to; i++) {
      labels[i - from] = (step * 31L + i * 7L) % CLASSES;
    }
    return Tensor.vector(labels);
  }
}
