package dev.millrace.examples;

import dev.millrace.examples.mnist.MnistData;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.array.Split;
import dev.millrace.ops.nn.Activations;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.Towers;
import dev.millrace.train.layers.Convolution;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Flatten;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Metrics;
import dev.millrace.train.layers.Padding;
import dev.millrace.train.layers.Pooling;
import dev.millrace.train.optimizer.Adam;
import dev.millrace.train.variable.Reuse;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.List;
import java.util.Map;

/**
 * A convolutional network with a tower on each of several devices: half of the batch goes through
 * each, and one update is made with the average of their gradients. TensorFlow's multi-GPU CIFAR-10
 * tutorial does this.
 *
 * <pre>
 * for i in range(2):
 *   with tf.device("/cpu:%d" % i), tf.name_scope("tower_%d" % i):
 *     loss = tower_loss(images[i], labels[i])
 *     tf.get_variable_scope().reuse_variables()
 *     tower_grads.append(opt.compute_gradients(loss))
 * grads = average_gradients(tower_grads)
 * train_op = opt.apply_gradients(grads, global_step=global_step)
 * </pre>
 */
public final class CnnTowers {
  private static final List<String> DEVICES = List.of("/cpu:0", "/cpu:1");
  private static final int STEPS = 60;

  private CnnTowers() {}

  /** Trains and prints the accuracy. */
  public static void main(String[] args) {
    System.out.printf("accuracy %.3f%n", accuracy());
  }

  static double accuracy() {
    Graph graph = StandardOps.newGraph();
    graph.setSeed(1);
    Scope scope = Scope.of(graph);
    Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, MnistData.PIXELS));
    Output y = Placeholder.of(scope, DType.INT64, Shape.of(-1));
    List<Output> images = Split.of(scope, x, DEVICES.size(), 0);
    List<Output> labels = Split.of(scope, y, DEVICES.size(), 0);
    Node train =
        Towers.minimize(
            scope,
            DEVICES,
            (tower, i) ->
                Losses.sparseSoftmaxCrossEntropy(
                    tower, logits(tower, images.get(i)), labels.get(i)),
            new Adam(.005f),
            GlobalStep.of(scope));
    Output accuracy = Metrics.accuracy(scope, logits(scope, x), y);

    SessionOptions options = SessionOptions.DEFAULT.withCpuDevices(DEVICES.size());
    try (Session session = new LocalSession(graph, options)) {
      session.run(Variables.initializer(scope));
      MnistData.Batches batches = MnistData.train(null).batches(64, 1);
      for (int i = 0; i < STEPS; i++) {
        Tensor[] batch = batches.next();
        session.run(Map.of(x, batch[0], y, batch[1]), train);
      }
      MnistData test = MnistData.test(null);
      return session
          .fetch(accuracy, Map.of(x, test.images(0, 1000), y, test.labels(0, 1000)))
          .doubleValue();
    }
  }

  /** The network. Built again it shares its variables, as with reuse_variables(). */
  private static Output logits(Scope scope, Output images) {
    VariableScope model = VariableScope.of(scope).withReuse(Reuse.AUTO);
    Output h = Reshape.of(scope, images, Shape.of(-1, 28, 28, 1));
    h = Convolution.of(8, 5).activation(Activations::relu).of(model, "conv1", h);
    h = Pooling.max(scope, h, 2, 2, Padding.SAME);
    h = Convolution.of(16, 5).activation(Activations::relu).of(model, "conv2", h);
    h = Pooling.max(scope, h, 2, 2, Padding.SAME);
    return Dense.of(model, "logits", Flatten.of(scope, h), MnistData.CLASSES);
  }
}
