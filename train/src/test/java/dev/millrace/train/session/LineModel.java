package dev.millrace.train.session;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.optimizer.Minimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** A line through the origin, {@code y = w x}, trained on {@code y = 3 x}: small and exact. */
public final class LineModel {
  public final Graph graph = new Graph(StandardOps.registry());
  public final Scope scope;
  public final GraphVariable step;
  public final GraphVariable w;
  public final Output x;
  public final Output loss;
  public final Node train;

  public LineModel() {
    this(s -> s, new GradientDescent(.05f));
  }

  public LineModel(UnaryOperator<Scope> placement, Minimizer optimizer) {
    scope = placement.apply(Scope.of(graph));
    step = GlobalStep.of(scope);
    w = VariableScope.of(scope).variable("w", Shape.scalar(), Initializers.zeros());
    x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.of(-1));
    Output apart =
        Arithmetic.sub(scope, Arithmetic.mul(scope, w.read(), x), Arithmetic.scaled(scope, x, 3));
    Output squares = Arithmetic.mul(scope, apart, apart);
    loss = Reduction.mean(scope.withName("loss"), squares, 0);
    train = optimizer.minimize(scope, loss, step);
  }

  public Map<Output, Tensor> batch(float... values) {
    return Map.of(x, Tensor.vector(values));
  }

  public void step(MonitoredTrainingSession session) {
    session.run(batch(1, 2), List.of(), List.of(train));
  }

  public long stepOf(Session session) {
    return session.fetch(step.read()).longValue();
  }
}
