package dev.millrace.train.job;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A word by which any task asks all workers of a job to stop, such as when it is told to terminate:
 * each ends after its step, and the chief saves. The chief also says it when it ends, well or not,
 * so that nobody trains on parameter servers that are about to leave. The word is a variable on the
 * first parameter server that has no value at first. A task raises it by assigning 1, and a chief
 * that has finished by assigning 2. Workers look twice a second, beside their steps.
 *
 * <p>Threading: {@link #raise} may be called by any thread.
 */
public final class StopRequest implements SessionRunHook {
  /** The name of the variable. */
  public static final String NAME = "millrace_stop_request";

  private static final Logger LOG = LoggerFactory.getLogger(StopRequest.class);

  /** What a task assigns that was told to stop, and a chief that has failed. */
  private static final long STOP = 1;

  /** What a chief assigns that has finished, at the last step or before. */
  private static final long FINISHED = 2;

  private static final Duration PERIOD = Duration.ofMillis(500);
  private static final RunOptions LIMIT = RunOptions.DEFAULT.withTimeout(Duration.ofSeconds(10));

  private final boolean chief;

  /** Whether the end of the chief ends the job. */
  private final boolean atEnd;

  private final Output raised;
  private final Output value;
  private final Node raise;
  private final Node finish;
  private final Node clear;
  private volatile Session session;
  private volatile boolean seen;
  private volatile boolean finished;

  /**
   * Adds the nodes.
   *
   * @param device where the word is kept, such as {@code /job:ps/task:0}; empty for here
   * @param chief whether this task clears what an earlier job left
   */
  public StopRequest(Scope outer, String device, boolean chief) {
    this(outer, device, chief, true);
  }

  /** A request that is raised on demand only: other workers train on when the chief ends. */
  public static StopRequest onDemand(Scope outer, String device, boolean chief) {
    return new StopRequest(outer, device, chief, false);
  }

  private StopRequest(Scope outer, String device, boolean chief, boolean atEnd) {
    this.chief = chief;
    this.atEnd = atEnd;
    Scope graph = Scope.of(outer.graph());
    Scope scope =
        (device.isEmpty() ? graph : graph.withDevice(device)).withSubScope("stop_request");
    Output handle =
        scope
            .withName(NAME)
            .node("VarHandleOp")
            .attr("shared_name", NAME)
            .attr("dtype", DType.INT64)
            .attr("shape", Shape.scalar())
            .add()
            .output();
    raised = scope.node("VarIsInitializedOp").input(handle).add().output();
    value = scope.node("ReadVariableOp").input(handle).attr("dtype", DType.INT64).add().output();
    raise = scope.node("AssignVariableOp").input(handle).input(Const.of(scope, STOP)).add();
    finish = scope.node("AssignVariableOp").input(handle).input(Const.of(scope, FINISHED)).add();
    clear = scope.node("DestroyResourceOp").input(handle).add();
  }

  /** Asks all workers to stop: this one for certain, the others as soon as they can be reached. */
  public void raise() {
    seen = true;
    Session s = session;
    if (s == null) {
      return;
    }
    try {
      assign(s, raise);
    } catch (MillraceException e) {
      // Raised again in the session that takes the place of this one.
      LOG.warn("The other tasks cannot be asked to stop now: {}", e.getMessage());
    }
  }

  /** Whether this task knows that all are to stop, be it as the chief is done. */
  public boolean isRaised() {
    return seen;
  }

  /** Whether all are to stop because the chief has finished, rather than on request. */
  public boolean isFinished() {
    return finished;
  }

  /** Asks all workers of a job to stop, from a task that is none: a parameter server. */
  public static void raise(OpRegistry registry, SessionFactory sessions) {
    Graph graph = new Graph(registry);
    StopRequest request = new StopRequest(Scope.of(graph), "/job:ps/task:0", false);
    try (Session s = sessions.open(graph)) {
      assign(s, request.raise);
    }
  }

  private static void assign(Session s, Node word) {
    s.run(Map.of(), List.of(), List.of(word), LIMIT);
  }

  /** Before any worker can train: what one of them asks from then on must not be cleared. */
  @Override
  public void beforePreparing(Session s) {
    if (chief && session == null) {
      s.run(clear);
    }
  }

  @Override
  public void afterCreateSession(Session s, Coordinator coordinator) {
    session = s;
    if (seen) {
      assign(s, raise);
    }
    coordinator.start("millrace-stop-request", () -> watch(s, coordinator));
  }

  private void watch(Session s, Coordinator coordinator) throws InterruptedException {
    while (!seen && !coordinator.awaitStop(PERIOD)) {
      try {
        if (isRaisedIn(s)) {
          finished = valueIn(s) == FINISHED;
          LOG.info(finished ? "The chief has finished." : "A task of the job asked all to stop.");
          seen = true;
        }
      } catch (MillraceException e) {
        // The steps will notice, and know better what to do.
        LOG.debug("Cannot look for a request to stop: {}", e.getMessage());
      }
    }
  }

  private boolean isRaisedIn(Session s) {
    try (Tensor t = s.run(Map.of(), List.of(raised), List.of(), LIMIT).getFirst()) {
      return t.booleanValue();
    }
  }

  private long valueIn(Session s) {
    try (Tensor t = s.run(Map.of(), List.of(value), List.of(), LIMIT).getFirst()) {
      return t.longValue();
    }
  }

  /** Asks the other workers to stop, as the chief has finished; they make no more steps. */
  public void finish(Session s) {
    boolean told = seen && !finished;
    finished = !told;
    seen = true; // nobody else asked
    assign(s, told ? raise : finish);
  }

  /** The end of the chief is that of the job. A request that it has followed remains one. */
  @Override
  public void end(Session s) {
    if (chief && atEnd) {
      finish(s);
    }
  }

  @Override
  public void abandon(Session s, MillraceException cause) {
    if (chief && atEnd) {
      assign(s, raise);
    }
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    if (seen) {
      context.requestStop();
    }
  }
}
