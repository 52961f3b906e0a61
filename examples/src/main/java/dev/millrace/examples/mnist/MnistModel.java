package dev.millrace.examples.mnist;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.GraphSummaries;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Metrics;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;

/**
 * A model of the digits with everything needed to train it, as one graph outside of a job.
 *
 * @param scope where it was built, with its devices
 * @param images placeholder for rows of pixels
 * @param labels placeholder for the digits
 * @param train one step of descent, which also advances the global step
 */
public record MnistModel(
    Scope scope,
    Output images,
    Output labels,
    Output loss,
    Output accuracy,
    GraphVariable globalStep,
    Node train) {
  /** Adds what makes one step of training: an optimizer's {@code minimize}. */
  @FunctionalInterface
  public interface TrainOp {
    Node of(Scope scope, Output loss, GraphVariable globalStep);
  }

  /** Builds a model in {@code scope}, which says where its parts go. */
  public static MnistModel build(Scope scope, Network network, TrainOp optimizer) {
    VariableScope model = VariableScope.of(scope);
    Output x =
        Placeholder.of(scope.withName("images"), DType.FLOAT, Shape.of(-1, MnistData.PIXELS));
    Output y = Placeholder.of(scope.withName("labels"), DType.INT64, Shape.of(-1));
    Output logits = network.logits(model, x);
    Output loss = Losses.sparseSoftmaxCrossEntropy(scope, logits, y);
    Output accuracy = Metrics.accuracy(scope, logits, y);
    GraphSummaries.scalar(scope, "loss", loss);
    GraphSummaries.scalar(scope, "batch_accuracy", accuracy);
    GraphVariable step = GlobalStep.of(model);
    return new MnistModel(scope, x, y, loss, accuracy, step, optimizer.of(scope, loss, step));
  }

  /** The graph it is part of. */
  public Graph graph() {
    return scope.graph();
  }
}
