package dev.millrace.cluster.master;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.steps.Phase;
import dev.millrace.base.steps.StepClock;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.cluster.peer.StepPeer;
import dev.millrace.cluster.peer.StepReport;
import dev.millrace.cluster.peer.WorkerPeer;
import dev.millrace.runtime.exec.RunningSteps;
import dev.millrace.runtime.exec.StepFailures;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One step as its master runs it: a call to each task that has a part of it, and the first error
 * that is a cause.
 *
 * <p>Threading: {@link #run} once, on the thread that asked for the step; the rest on any thread.
 */
final class MasterStep implements RunningSteps.Member {
  private static final Logger LOG = LoggerFactory.getLogger(MasterStep.class);

  /** How long a step that waits for an answer only offers its processor before it sleeps. */
  private static final long YIELD_NANOS = 50_000;

  private static final long REPORT_NANOS = 10_000_000_000L;

  private final long id;
  private final StepPlan plan;
  private final Duration limit;
  private final long deadlineNanos;
  private final StepReport report;
  private final Cancellation cancellation;
  private final Timers timers;
  private final StepErrors errors = new StepErrors();

  MasterStep(
      long id,
      StepPlan plan,
      Duration limit,
      StepReport report,
      Cancellation cancellation,
      Timers timers) {
    this.id = id;
    this.plan = plan;
    this.limit = limit;
    this.deadlineNanos = limit == null ? 0 : RunningSteps.deadline(timers, limit.toNanos());
    this.report = report;
    this.cancellation = cancellation;
    this.timers = timers;
  }

  @Override
  public long deadlineNanos() {
    return deadlineNanos;
  }

  @Override
  public MillraceException overdue() {
    return StepFailures.deadlineExceeded(id, limit);
  }

  @Override
  public void fail(MillraceException cause) {
    cancellation.cancel(cause);
  }

  /** Runs the step for the session of that name. Feeds are borrowed. */
  List<Tensor> run(String session, Map<String, Tensor> feeds) {
    StepClock clock = StepClock.current();
    if (clock != null) {
      clock.step(id);
    }
    List<CompletableFuture<List<Tensor>>> calls = new ArrayList<>(plan.parts().size());
    List<StepPeer> ways = plan.parts().stream().map(p -> p.worker().way()).toList();
    List<Tensor> results = List.of();
    try {
      cancellation.checkLease();
      for (int i = 0; i < ways.size(); i++) {
        calls.add(call(session, plan.parts().get(i), ways.get(i), feeds));
      }
      for (int i = 0; i < calls.size(); i++) {
        List<Tensor> r = measuredJoin(calls.get(i), plan.parts().get(i).worker());
        if (plan.parts().get(i).isClient() && r != null) {
          results = r;
        }
      }
    } finally {
      ways.forEach(w -> w.cleanupStep(id));
    }
    MillraceException failure = errors.rootCause(cancellation);
    if (failure != null) {
      results.forEach(Refs::release);
      throw failure.code() == Code.DEADLINE_EXCEEDED
          ? StepFailures.waitingFor(failure, report.reasons())
          : failure;
    }
    return results;
  }

  private CompletableFuture<List<Tensor>> call(
      String session, StepPlan.Part p, StepPeer way, Map<String, Tensor> feeds) {
    RunGraph call =
        new RunGraph(
            session,
            true,
            p.graphHandle(),
            id,
            p.isClient() ? feeds : Map.of(),
            p.isClient() ? plan.fetchKeys() : List.of(),
            report);
    CompletableFuture<List<Tensor>> answer = way.runGraph(call, cancellation);
    answer.whenComplete(
        (r, e) -> {
          if (e != null) {
            errors.add(p.worker().name(), MillraceException.of(e), cancellation);
          }
        });
    return answer;
  }

  private List<Tensor> measuredJoin(CompletableFuture<List<Tensor>> call, WorkerPeer worker) {
    StepClock clock = StepClock.current();
    if (clock == null || call.isDone()) {
      return join(call, worker);
    }
    Phase before = clock.enter(Phase.PUSH, worker.name());
    try {
      return join(call, worker);
    } finally {
      clock.enter(before);
    }
  }

  /** Waits for one worker's answer, reporting every ten seconds whom it waits for. */
  private List<Tensor> join(CompletableFuture<List<Tensor>> call, WorkerPeer worker) {
    long start = timers.now();
    long yieldNanos = timers.spinLimit(YIELD_NANOS);
    while (!call.isDone() && timers.now() - start < yieldNanos) {
      Thread.yield();
    }
    while (true) {
      try {
        return timers.get(call, REPORT_NANOS);
      } catch (TimeoutException e) {
        LOG.info(
            "Step {} has waited {} s for {}.",
            id,
            (timers.now() - start) / 1_000_000_000L,
            worker.name());
      } catch (ExecutionException e) {
        errors.add(worker.name(), MillraceException.of(e), cancellation);
        return null;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        MillraceException c = StepFailures.interrupted(e);
        cancellation.cancel(c);
        errors.add(worker.name(), c, cancellation);
        // Results may be under way already.
        call.thenAccept(late -> late.forEach(Refs::release));
        return null;
      }
    }
  }
}
