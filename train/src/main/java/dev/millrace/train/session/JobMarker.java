package dev.millrace.train.session;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.hook.SessionRunHook;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A word beside the global step that says whose job the variables belong to. It is there from the
 * moment they all have their values until training ends, well or not. So a chief that was killed
 * knows its own job when it is started again, and goes on where the others are, rather than take
 * them back to the last checkpoint.
 */
final class JobMarker implements SessionRunHook {
  private static final Logger LOG = LoggerFactory.getLogger(JobMarker.class);
  private static final String NAME = "millrace_job_mark";
  private static final RunOptions LIMIT = RunOptions.DEFAULT.withTimeout(Duration.ofSeconds(30));

  private final String job;
  private final Output isThere;
  private final Output value;
  private final Node set;
  private final Node clear;

  /** Adds the nodes of the mark of {@code job}, on the task of {@code step}. */
  JobMarker(Scope outer, Node step, String job) {
    this.job = job;
    Scope scope = Scope.of(outer.graph()).withSubScope("job_mark").withDevice(step.device());
    Output handle =
        scope
            .withName(NAME)
            .node("VarHandleOp")
            .attr("shared_name", NAME)
            .attr("dtype", DType.STRING)
            .attr("shape", Shape.scalar())
            .add()
            .output();
    isThere = scope.node("VarIsInitializedOp").input(handle).add().output();
    value = scope.node("ReadVariableOp").input(handle).attr("dtype", DType.STRING).add().output();
    set = scope.node("AssignVariableOp").input(handle).input(Const.of(scope, job)).add();
    clear = scope.node("DestroyResourceOp").input(handle).add();
  }

  /** Whether the variables belong to this job. */
  boolean isSet(Session session) {
    if (!one(session, isThere, Tensor::booleanValue)) {
      return false;
    }
    return one(session, value, Tensor::stringValue).equals(job);
  }

  private static <T> T one(Session session, Output o, Function<Tensor, T> f) {
    try (Tensor t = session.run(Map.of(), List.of(o), List.of(), LIMIT).getFirst()) {
      return f.apply(t);
    }
  }

  /** They do from now on. */
  void set(Session session) {
    session.run(Map.of(), List.of(), List.of(set), LIMIT);
  }

  /** They do not any more, whether they did or not. */
  void clear(Session session) {
    session.run(Map.of(), List.of(), List.of(clear), LIMIT);
  }

  @Override
  public void end(Session session) {
    release(session);
  }

  @Override
  public void abandon(Session session, MillraceException cause) {
    release(session);
  }

  private void release(Session session) {
    try {
      clear(session);
    } catch (MillraceException e) {
      LOG.warn("The variables keep the mark of this job: {}", e.getMessage());
    }
  }
}
