package dev.millrace.train.job;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.state.Scatter;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionRunHook;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.LongPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which workers of a job train: a vector on the first parameter server with one entry per worker.
 * At its end the chief waits for the last step of every worker that trains, so that its last save
 * contains all steps of the job. A worker that was lost keeps its entry: the wait has a limit.
 *
 * <p>The hook of a chief comes after those that tell the other workers to end.
 *
 * <p>Threading: used by the thread of the steps.
 */
public final class WorkerRoster implements SessionRunHook {
  /** The name of the variable. */
  public static final String NAME = "millrace_worker_roster";

  private static final Logger LOG = LoggerFactory.getLogger(WorkerRoster.class);
  private static final RunOptions LIMIT = RunOptions.DEFAULT.withTimeout(Duration.ofSeconds(10));
  private static final long LOOK_NANOS = 20_000_000L;

  private static final long TRAINS = 1;
  private static final long DONE = 2;

  private final int worker;
  private final Duration patience;
  private final Output isThere;
  private final Output all;
  private final Node clear;
  private final Output row;
  private final Output state;
  private final Node set;
  private Timers timers = Context.current().timers();

  /**
   * Adds the nodes.
   *
   * @param device where the vector is kept, such as {@code /job:ps/task:0}
   * @param worker the number of this worker; 0 is the chief
   * @param patience how long the chief waits for the last steps of the others
   */
  public WorkerRoster(Scope outer, String device, int worker, int workers, Duration patience) {
    this.worker = worker;
    this.patience = patience;
    Scope scope = Scope.of(outer.graph()).withDevice(device).withSubScope("worker_roster");
    Shape shape = Shape.of(workers);
    Output handle =
        scope
            .withName(NAME)
            .node("VarHandleOp")
            .attr("shared_name", NAME)
            .attr("dtype", DType.INT64)
            .attr("shape", shape)
            .add()
            .output();
    isThere = scope.node("VarIsInitializedOp").input(handle).add().output();
    all = scope.node("ReadVariableOp").input(handle).attr("dtype", DType.INT64).add().output();
    Output zeros = Const.of(scope, Tensor.of(shape, new long[workers]));
    clear = scope.node("AssignVariableOp").input(handle).input(zeros).add();
    row = Placeholder.of(scope.withName("row"), DType.INT32, Shape.of(1));
    state = Placeholder.of(scope.withName("state"), DType.INT64, Shape.of(1));
    set = Scatter.update(scope, handle, row, state);
  }

  /** A chief that was started again keeps the entries of the workers that trained on. */
  @Override
  public void beforePreparing(Session session) {
    if (worker != 0) {
      return;
    }
    try (Tensor there = session.run(Map.of(), List.of(isThere), List.of(), LIMIT).getFirst()) {
      if (!there.booleanValue()) {
        session.run(Map.of(), List.of(), List.of(clear), LIMIT);
      }
    }
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    timers = coordinator.platform().timers();
    note(session, TRAINS);
  }

  /** Notes that this worker makes no further step, unless its session is lost. */
  public void done(Session session) {
    note(session, DONE);
  }

  private void note(Session session, long what) {
    try (Tensor r = Tensor.vector(worker);
        Tensor s = Tensor.vector(what)) {
      session.run(Map.of(row, r, state, s), List.of(), List.of(set), LIMIT);
    }
  }

  /** The other workers that train now. */
  public List<Integer> training(Session session) {
    return others(session, state -> state == TRAINS);
  }

  /** The other workers that have not said that they are done, be it that they have not started. */
  public List<Integer> unfinished(Session session) {
    return others(session, state -> state != DONE);
  }

  private List<Integer> others(Session session, LongPredicate which) {
    try (Tensor t = session.run(Map.of(), List.of(all), List.of(), LIMIT).getFirst()) {
      List<Integer> found = new ArrayList<>();
      for (int i = 0; i < t.elements(); i++) {
        if (i != worker && which.test(t.longAt(i))) {
          found.add(i);
        }
      }
      return found;
    }
  }

  /** Waits until no other worker trains, for a limited time. */
  public void awaitOthers(Session session) {
    long start = timers.now();
    List<Integer> left = training(session);
    while (!left.isEmpty() && timers.now() - start < patience.toNanos()) {
      timers.park(this, LOOK_NANOS);
      left = training(session);
    }
    if (!left.isEmpty()) {
      LOG.warn(
          "Workers {} have not ended within {} s: the last save may lack their last step.",
          left,
          patience.toSeconds());
    }
  }

  @Override
  public void end(Session session) {
    if (worker == 0) {
      awaitOthers(session);
    } else {
      done(session);
    }
  }

  @Override
  public void abandon(Session session, MillraceException cause) {
    if (worker != 0) {
      done(session);
    }
  }
}
