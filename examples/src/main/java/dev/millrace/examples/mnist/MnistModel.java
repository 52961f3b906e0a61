package dev.millrace.examples.mnist;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.layers.Metrics;
import dev.millrace.train.optimizer.Optimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.function.UnaryOperator;

/**
 * A model of the digits with everything needed to train it, as one graph.
 *
 * @param images placeholder for rows of pixels
 * @param labels placeholder for the digits
 * @param train one step of descent, which also advances the global step
 * @param initialize gives every variable its first value
 */
public record MnistModel(
    Graph graph,
    Output images,
    Output labels,
    Output loss,
    Output accuracy,
    GraphVariable globalStep,
    Node train,
    Node initialize) {
  /**
   * Builds a model.
   *
   * @param optimizer a new one, for this graph alone
   * @param placement adds devices to the scope the model is built in
   */
  public static MnistModel build(
      Network network, Optimizer optimizer, long seed, UnaryOperator<Scope> placement) {
    Graph graph = StandardOps.newGraph();
    graph.setSeed(seed);
    Scope scope = placement.apply(Scope.of(graph));
    VariableScope model = VariableScope.of(scope);
    Output x =
        Placeholder.of(scope.withName("images"), DType.FLOAT, Shape.of(-1, MnistData.PIXELS));
    Output y = Placeholder.of(scope.withName("labels"), DType.INT64, Shape.of(-1));
    Output logits = network.logits(model, x);
    Output loss = Losses.sparseSoftmaxCrossEntropy(scope, logits, y);
    Output accuracy = Metrics.accuracy(scope, logits, y);
    GraphVariable step = GlobalStep.of(model);
    Node train = optimizer.minimize(scope, loss, step);
    Node init = Variables.initializer(scope);
    return new MnistModel(graph, x, y, loss, accuracy, step, train, init);
  }
}
