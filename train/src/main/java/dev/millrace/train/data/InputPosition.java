package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.state.Scatter;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.session.Coordinator;
import dev.millrace.train.session.SessionRunArgs;
import dev.millrace.train.session.SessionRunContext;
import dev.millrace.train.session.SessionRunHook;
import dev.millrace.train.session.SessionRunValues;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.util.Arrays;
import java.util.Map;

/**
 * Keeps every worker's place in its input in a variable beside the model, a row for each, so that
 * it is saved with the model and a training that goes on from a checkpoint goes on with the data
 * that follows. A worker writes its place with every step, in the step.
 */
public final class InputPosition implements SessionRunHook {
  private final Elements elements;
  private final int worker;
  private final GraphVariable places;
  private final Output next;
  private final Node write;
  private Tensor fed;

  /**
   * For the input of worker number {@code worker} of {@code workers}.
   *
   * @param dataset what {@code elements} is a passage through
   */
  public InputPosition(Scope scope, Dataset dataset, Elements elements, int worker, int workers) {
    if (worker < 0 || worker >= workers) {
      throw MillraceException.invalid("There is no worker %d of %d.", worker, workers);
    }
    this.elements = elements;
    this.worker = worker;
    int length = dataset.positionLength();
    long[] first = elements.position();
    long[] initial = new long[workers * length];
    Arrays.setAll(initial, i -> first[i % length]);
    places =
        VariableScope.of(scope)
            .withTrainable(false)
            .variable(
                "input_position",
                DType.INT64,
                Shape.of(workers, length),
                Initializers.value(Tensor.of(Shape.of(workers, length), initial)));
    Scope own = scope.withSubScope("input_position").colocatedWith(places.node());
    next = Placeholder.of(own.withName("next"), DType.INT64, Shape.of(1, length));
    write = Scatter.update(own, places.handle(), Const.ints(own, worker), next);
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    try (Tensor t = session.fetch(places.read())) {
      int length = Math.toIntExact(t.shape().dim(1));
      elements.seek(Arrays.copyOfRange(t.toLongs(), worker * length, (worker + 1) * length));
    }
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    release();
    long[] position = elements.position();
    fed = Tensor.of(Shape.of(1, position.length), position);
    return SessionRunArgs.feeding(Map.of(next, fed)).running(write);
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    release();
  }

  private void release() {
    if (fed != null) {
      fed.close();
      fed = null;
    }
  }
}
