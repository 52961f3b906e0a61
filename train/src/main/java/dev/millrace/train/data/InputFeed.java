package dev.millrace.train.data;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
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
import dev.millrace.train.checkpoint.ResettableVariable;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.InputRate;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * Feeds every step with the next element of a dataset, and keeps every worker's place in its input
 * in a variable beside the model, a row for each. The place is written in the step that trains the
 * element and saved with the model, so a training that goes on from a checkpoint, in this process
 * or another, goes on with the data that follows what the restored model has seen.
 *
 * <p>Each rank of a ring has its own copy of the variable. The ranks gather their positions in
 * every step, so the checkpoint that rank 0 saves has the positions of all.
 *
 * <p>When the data ends, the step ends with OUT_OF_RANGE, as steps that read a queue do. A job that
 * resumes with another number of workers starts at the beginning of the data and logs that.
 *
 * <p>Threading: used by the thread of the steps.
 */
public final class InputFeed implements SessionRunHook {
  /** The op that gathers the positions; only the graph of a ring has it in its registry. */
  private static final String GATHER = "HorovodAllgather";

  private final List<Output> inputs;
  private final Elements elements;
  private final int worker;

  /** The position before the first element. */
  private final long[] first;

  private final GraphVariable places;
  private final Output next;
  private final Node write;
  private final InputRate rate = new InputRate(Context.current().timers());
  private Map<Output, Tensor> fed = Map.of();

  /** How many examples are fed: the rows of the first tensor. */
  private long examples;

  /**
   * For worker number {@code worker} of {@code workers}.
   *
   * @param inputs the placeholders that the tensors of an element are fed to, in their order
   */
  public InputFeed(Scope scope, Dataset dataset, List<Output> inputs, int worker, int workers) {
    if (worker < 0 || worker >= workers) {
      throw MillraceException.invalid("There is no worker %d of %d.", worker, workers);
    }
    this.inputs = List.copyOf(inputs);
    this.elements = dataset.elements();
    this.worker = worker;
    int length = dataset.positionLength();
    first = elements.position();
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
    boolean shared = workers == 1 || scope.graph().registry().find(GATHER) == null;
    write =
        shared
            ? Scatter.update(own, places.handle(), Const.ints(own, worker), next)
            : places.assign(own, own.node(GATHER).input(next).add().output());
    new ResettableVariable(
            places,
            "the checkpoint is of a job with another number of workers or another input, so every"
                + " worker starts at the beginning of its data.")
        .register();
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    try (Tensor t = session.fetch(places.read())) {
      int length = Math.toIntExact(t.shape().dim(1));
      elements.seek(Arrays.copyOfRange(t.toLongs(), worker * length, (worker + 1) * length));
    }
  }

  /** Takes an element here and not before: a step that is run again after a loss takes its own. */
  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    release();
    boolean atFirst = Arrays.equals(elements.position(), first);
    Tensor[] element = elements.next();
    if (element == null && atFirst) {
      // Not OUT_OF_RANGE: a worker without any data must not leave as one that is done.
      throw MillraceException.invalid(
          "The input of worker %d is empty. Are there more workers than elements, or fewer elements"
              + " than make a batch?",
          worker);
    }
    if (element == null) {
      throw new MillraceException(
          Code.OUT_OF_RANGE, "The input of worker " + worker + " has ended.");
    }
    if (element.length != inputs.size()) {
      Elements.release(element);
      throw MillraceException.invalid(
          "An element of the input has %d tensors, but there are %d placeholders to feed.",
          element.length, inputs.size());
    }
    fed = new LinkedHashMap<>();
    for (int i = 0; i < element.length; i++) {
      fed.put(inputs.get(i), element[i]);
    }
    examples = element[0].shape().rank() == 0 ? 1 : element[0].shape().dim(0);
    long[] position = elements.position();
    fed.put(next, Tensor.of(Shape.of(1, position.length), position));
    return SessionRunArgs.feeding(fed).running(write);
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    rate.trained(examples);
    release();
  }

  @Override
  public void figures(BiConsumer<String, Double> to) {
    rate.figures(to);
  }

  @Override
  public void end(Session session) {
    close();
  }

  @Override
  public void abandon(Session session, MillraceException cause) {
    close();
  }

  private void close() {
    release();
    elements.close();
  }

  private void release() {
    fed.values().forEach(Tensor::close);
    fed = Map.of();
  }
}
