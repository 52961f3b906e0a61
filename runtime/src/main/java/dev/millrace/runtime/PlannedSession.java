package dev.millrace.runtime;

import dev.millrace.base.Preconditions;
import dev.millrace.base.context.Context;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.runtime.exec.StepFailures;
import dev.millrace.runtime.plan.StepSignature;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * What all kinds of session have in common: a step is checked, planned when its signature comes for
 * the first time, and run within its time limit. So all of them refuse the same mistakes in the
 * same order and words.
 *
 * <p>Threading: any number of runs at once, from any threads.
 *
 * @param <P> the plan of a step
 */
@SuppressWarnings("exports") // Only sessions of Millrace implement the protected methods.
public abstract class PlannedSession<P extends PlannedSession.Plan> implements Session {
  /** How the steps of one signature run. */
  protected interface Plan {
    /** The names of the outputs to fetch. */
    List<String> fetchNames();
  }

  /** A fixed order of feeds, so that the same feeds have the same plan. */
  private static final Comparator<Output> BY_NODE =
      Comparator.<Output>comparingInt(f -> f.node().id()).thenComparingInt(Output::index);

  private final Graph graph;
  private final Duration stepTimeout;
  private final Context context;
  private final AtomicBoolean closing = new AtomicBoolean();
  private volatile boolean closed;

  /**
   * A session on {@code graph}.
   *
   * @param stepTimeout the time limit of steps whose options name none; zero for no limit
   * @param context steps are planned and run in it
   */
  protected PlannedSession(Graph graph, Duration stepTimeout, Context context) {
    this.context = Preconditions.value(context, "The context of a session");
    this.graph = Preconditions.value(graph, "The graph of a session");
    this.stepTimeout = Preconditions.value(stepTimeout, "The step timeout of a session");
  }

  /** The graph whose nodes the session runs. */
  protected final Graph graph() {
    return graph;
  }

  /** The plan of a step, or null if there is none yet. */
  protected abstract P knownPlan(StepSignature s);

  /** Makes the plan of a step, unless another thread has made it meanwhile. */
  protected abstract P makePlan(StepSignature s);

  /**
   * Runs a step whose feeds have been checked.
   *
   * @param feeds counted tensors; borrowed
   * @param limit how long it may take; null for no limit
   * @return the fetched values as counted tensors that are the caller's
   */
  protected abstract Tensor[] execute(P plan, Tensor[] feeds, RunOptions options, Duration limit);

  /** Ends the steps under way with {@link StepFailures#cancelledByClose} and gives all back. */
  protected abstract void end();

  /** Throws if the session was closed. */
  protected final void checkOpen() {
    if (closed) {
      throw StepFailures.sessionClosed();
    }
  }

  /** Whether {@link #close} was called. */
  protected final boolean isClosed() {
    return closed;
  }

  @Override
  public final List<Tensor> run(
      Map<Output, Tensor> feeds, List<Output> fetches, List<Node> targets, RunOptions options) {
    List<Output> fed = new ArrayList<>(Preconditions.value(feeds, "The map of feeds").keySet());
    Preconditions.all(fed, "feeds");
    if (fed.size() > 1) {
      fed.sort(BY_NODE);
    }
    Tensor[] values = new Tensor[fed.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = feeds.get(fed.get(i));
    }
    return List.of(run(new StepSignature(fed, fetches, targets), values, options));
  }

  @Override
  public final Callable makeCallable(List<Output> feeds, List<Output> fetches, List<Node> targets) {
    checkOpen();
    StepSignature s = new StepSignature(feeds, fetches, targets);
    s.checkIn(graph);
    return values -> run(s, values, RunOptions.DEFAULT);
  }

  private Tensor[] run(StepSignature s, Tensor[] values, RunOptions options) {
    return Context.current() == context
        ? runHere(s, values, options)
        : context.call(() -> runHere(s, values, options));
  }

  private Tensor[] runHere(StepSignature s, Tensor[] values, RunOptions options) {
    checkOpen();
    P plan = knownPlan(s);
    if (plan == null) {
      s.checkIn(graph);
    }
    Tensor[] feeds = s.holdFeeds(values);
    try {
      if (plan == null) {
        plan = makePlan(s);
      }
      Tensor[] results = execute(plan, feeds, options, limit(options));
      for (int i = 0; i < results.length; i++) {
        results[i] = Refs.handle(results[i], plan.fetchNames().get(i));
      }
      return results;
    } finally {
      Refs.releaseAll(feeds);
    }
  }

  private Duration limit(RunOptions options) {
    Duration limit = options.timeout() == null ? stepTimeout : options.timeout();
    return limit.isZero() ? null : limit;
  }

  @Override
  public final void close() {
    if (closing.compareAndSet(false, true)) {
      closed = true;
      end();
    }
  }
}
