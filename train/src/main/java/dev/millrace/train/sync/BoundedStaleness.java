package dev.millrace.train.sync;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.state.Scatter;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.optimizer.GradientAndVariable;
import dev.millrace.train.optimizer.Minimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.time.Duration;
import java.util.List;

/**
 * Lets every worker apply its gradients as soon as it has them, but run at most so many steps ahead
 * of the slowest. Between synchronous training (a bound of 0 has all make equally many steps) and
 * asynchronous: fast where all are about equally fast, and never with very old gradients.
 *
 * <p>Each worker has a clock on the parameter server that holds the global step, moved by its train
 * op; one that is too far ahead waits in {@link #hook} before its next step.
 */
public final class BoundedStaleness implements Minimizer {
  /** Where the clocks are listed: not with the variables that are saved. */
  static final String CLOCKS = "millrace_clocks";

  private final Minimizer optimizer;
  private final int workers;
  private final int worker;
  private final int bound;
  private ClockNodes nodes;

  /** For worker number {@code worker} of {@code workers}, at most {@code bound} steps ahead. */
  public BoundedStaleness(Minimizer optimizer, int workers, int worker, int bound) {
    if (workers < 1 || worker < 0 || worker >= workers || bound < 0) {
      throw MillraceException.invalid(
          "Worker %d of %d cannot run %d steps ahead: workers are numbered from 0, and the bound is"
              + " 0 or more.",
          worker, workers, bound);
    }
    this.optimizer = optimizer;
    this.workers = workers;
    this.worker = worker;
    this.bound = bound;
  }

  @Override
  public List<GradientAndVariable> computeGradients(
      Scope scope, Output loss, List<GraphVariable> variables) {
    return optimizer.computeGradients(scope, loss, variables);
  }

  @Override
  public Node applyGradients(
      Scope scope, List<GradientAndVariable> pairs, GraphVariable globalStep) {
    if (globalStep == null) {
      throw MillraceException.invalid("Bounded staleness needs the global step.");
    }
    Node update = optimizer.applyGradients(scope, pairs, globalStep);
    Scope beside = scope.colocatedWith(globalStep.node()).withoutControlInputs();
    GraphVariable clocks =
        VariableScope.of(beside)
            .withCollection(CLOCKS)
            .withTrainable(false)
            .variable(
                "bounded_staleness/clocks",
                DType.INT64,
                Shape.of(workers),
                Initializers.constant((double) BoundedStalenessHook.ABSENT));
    Scope own = beside.reopened("bounded_staleness/");
    Output mine = Const.ints(own.withName("worker"), worker);
    Node tick =
        Scatter.add(
            own.withName("tick").withControlInputs(update),
            clocks.handle(),
            mine,
            Const.of(own, Tensor.vector(1L)));
    Output who = Placeholder.of(own.withName("who"), DType.INT32, Shape.of(1));
    Output when = Placeholder.of(own.withName("when"), DType.INT64, Shape.of(1));
    Node set = Scatter.update(own.withName("set"), clocks.handle(), who, when);
    nodes = new ClockNodes(clocks, tick, who, when, set);
    return tick;
  }

  /** What makes this task wait; gives up on a worker that does not move for {@code patience}. */
  public BoundedStalenessHook hook(boolean chief, Duration patience) {
    if (nodes == null) {
      throw MillraceException.invalid(
          "Call applyGradients or minimize before asking for the hook of a BoundedStaleness.");
    }
    return new BoundedStalenessHook(nodes, chief, worker, bound, patience);
  }

  /** The clocks, the node that moves the own one, and one that sets any. */
  record ClockNodes(GraphVariable clocks, Node tick, Output who, Output when, Node set) {}
}
