package dev.millrace.interop.ring;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.array.Reshape;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.layers.Convolution;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Flatten;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Padding;
import dev.millrace.train.layers.Pooling;
import dev.millrace.train.variable.VariableScope;
import java.util.Random;

/** The networks that are trained, as {@code data_parallel.py} has them, and a batch for them. */
record RankModel(Scope scope, Output images, Output labels, Output loss) {
  static final int BATCH = 100;
  private static final int PIXELS = 28 * 28;
  private static final int CLASSES = 10;

  /** The network called softmax, mlp or cnn, under {@code scope}. */
  static RankModel of(Scope scope, String name) {
    VariableScope model = VariableScope.of(scope);
    Output x = Placeholder.of(scope.withName("images"), DType.FLOAT, Shape.of(-1, PIXELS));
    Output y = Placeholder.of(scope.withName("labels"), DType.INT64, Shape.of(-1));
    Output h = x;
    if (name.equals("mlp")) {
      h = Dense.of(model, "hidden1", h, 512, RankModel::relu);
      h = Dense.of(model, "hidden2", h, 512, RankModel::relu);
    } else if (name.equals("cnn")) {
      h = Reshape.of(scope, h, Shape.of(-1, 28, 28, 1));
      h = Convolution.of(32, 5).activation(RankModel::relu).of(model, "conv1", h);
      h = Pooling.max(scope, h, 2, 2, Padding.SAME);
      h = Convolution.of(64, 5).activation(RankModel::relu).of(model, "conv2", h);
      h = Pooling.max(scope, h, 2, 2, Padding.SAME);
      h = Dense.of(model, "dense", Flatten.of(scope, h), 1024, RankModel::relu);
    }
    Output logits = Dense.of(model, "logits", h, CLASSES);
    return new RankModel(scope, x, y, Losses.sparseSoftmaxCrossEntropy(scope, logits, y));
  }

  private static Output relu(Scope scope, Output x) {
    return scope.node("Relu").input(x).add().output();
  }

  Graph graph() {
    return scope.graph();
  }

  /** Images and labels. */
  static Tensor[] batch(int seed) {
    Random random = new Random(seed);
    Tensor x = Tensor.allocate(DType.FLOAT, Shape.of(BATCH, PIXELS));
    Tensor y = Tensor.allocate(DType.INT64, Shape.of(BATCH));
    for (int i = 0; i < BATCH * PIXELS; i++) {
      x.setDouble(i, random.nextFloat());
    }
    for (int i = 0; i < BATCH; i++) {
      y.setLong(i, random.nextInt(CLASSES));
    }
    return new Tensor[] {x, y};
  }
}
