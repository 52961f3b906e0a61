package dev.millrace.train.sync;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A task's part in synchronous training. The chief's prepares the accumulators, declares the
 * generation and applies the averages on a thread of its own; any other waits for the generation
 * and joins it. Every task's sees to it that it goes on with a token of its own, counts the
 * gradients that came too late, and takes the worker out in the end so that the others do not wait
 * for it.
 */
public final class SyncReplicasHook implements SessionRunHook {
  private static final Logger LOG = LoggerFactory.getLogger(SyncReplicasHook.class);
  private static final RunOptions LEAVE = RunOptions.DEFAULT.withTimeout(Duration.ofSeconds(10));
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final long REPORT_NANOS = 5_000_000_000L;
  private static final long FIRST_PAUSE_NANOS = 200_000L;
  private static final long LONGEST_PAUSE_NANOS = 20_000_000L;

  private final SyncNodes nodes;
  private final boolean chief;
  private final Replicas replicas;
  private Timers timers = Context.current().timers();
  private final Staleness staleness = new Staleness();
  private volatile boolean leaving;

  /** How many workers have left, as far as the chief knows. */
  private volatile long left;

  /** The generation this worker takes part in; NONE if its chief declares none. */
  private long generation;

  /** The step that the gradients under way are for. */
  private volatile long step;

  SyncReplicasHook(SyncNodes nodes, boolean chief, Replicas replicas) {
    this.nodes = nodes;
    this.chief = chief;
    this.replicas = replicas;
  }

  /**
   * From here on no worker takes what it sees for the model. Gradients and takes of before are out
   * of the way when this returns.
   */
  @Override
  public void beforePreparing(Session session) {
    nodes.generation().withdraw(session);
    empty(session, nodes.flush());
  }

  private static void empty(Session session, Node node) {
    try {
      session.run(Map.of(), List.of(), List.of(node), RunOptions.DEFAULT.withTimeout(LIMIT));
    } catch (MillraceException e) {
      if (e.code() != Code.DEADLINE_EXCEEDED) {
        throw e;
      }
      throw new MillraceException(
          Code.UNAVAILABLE,
          "The accumulators of gradients could not be emptied within "
              + LIMIT.toSeconds()
              + " s: a parameter server does not answer, or still takes averages for an earlier"
              + " chief.",
          e);
    }
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    timers = coordinator.platform().timers();
    staleness.show();
    if (chief) {
      lead(session, coordinator);
    } else {
      generation = awaitGeneration(session);
      session.run(nodes.localInit());
    }
    step = read(session, nodes.localStep().read());
  }

  private void lead(Session session, Coordinator coordinator) {
    empty(session, nodes.chiefInit());
    for (long known = read(session, nodes.left()); known < left; known++) {
      session.run(nodes.addLeft());
    }
    generation = coordinator.platform().random().nextLong(1, Long.MAX_VALUE);
    nodes.generation().declare(session, generation);
    session.run(nodes.startTokens());
    coordinator.start("sync_replicas", () -> applyAverages(session, coordinator));
  }

  /** The generation that is declared, or NONE for a chief that has made the model without. */
  private long awaitGeneration(Session session) {
    if (!nodes.generation().isThere(session)) {
      return Generation.NONE;
    }
    long start = timers.now();
    long reported = start;
    long declared = nodes.generation().declared(session);
    for (long pause = FIRST_PAUSE_NANOS;
        declared == Generation.NONE;
        pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS)) {
      long now = timers.now();
      if (now - reported > REPORT_NANOS) {
        reported = now;
        LOG.warn(
            "Waiting for the chief to declare the model ready, for {} s so far: it is restoring the"
                + " model, or was lost meanwhile.",
            (now - start) / 1_000_000_000L);
      }
      if (now - start > LIMIT.toNanos()) {
        throw new MillraceException(
            Code.UNAVAILABLE,
            "The chief has not declared the model ready for "
                + LIMIT.toSeconds()
                + " s: it is restoring it, or was lost while it did.");
      }
      timers.park(this, pause);
      declared = nodes.generation().declared(session);
    }
    return declared;
  }

  private static long read(Session session, Output value) {
    try (Tensor t = session.fetch(value)) {
      return t.longValue();
    }
  }

  private void applyAverages(Session session, Coordinator coordinator) {
    while (!coordinator.shouldStop()) {
      try (Tensor t =
          session
              .run(
                  Map.of(),
                  List.of(nodes.leftBySync()),
                  List.of(nodes.sync()),
                  // It waits for the gradients of other tasks, whose steps have limits.
                  RunOptions.DEFAULT.withoutTimeout())
              .getFirst()) {
        left = Math.max(left, t.longValue());
      } catch (MillraceException e) {
        boolean closed = e.code() == Code.CANCELLED || e.code() == Code.OUT_OF_RANGE;
        if (leaving || closed && coordinator.shouldStop()) {
          return;
        }
        throw e;
      }
    }
  }

  /** Whether a run takes a token that this worker has to look at. */
  private boolean takesToken(SessionRunContext context) {
    return generation != Generation.NONE && context.targets().contains(nodes.train());
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    return takesToken(context)
        ? SessionRunArgs.fetching(nodes.staleness(), nodes.report())
        : SessionRunArgs.fetching(nodes.staleness());
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    staleness.add(Math.max(0, values.value(nodes.staleness()).longValue()));
    if (takesToken(context)) {
      settle(context.session(), TokenReport.of(values.value(nodes.report())), context.options());
    }
  }

  /** Goes on with a token of this worker's own, or fails if there will be none. */
  void settle(Session session, TokenReport first, RunOptions options) {
    TokenReport report = first;
    long pause = FIRST_PAUSE_NANOS;
    while (true) {
      switch (report.judge(replicas, generation, step)) {
        case OWN -> {
          step = replicas.hasSpares() ? Math.max(report.now(), report.token()) : report.token();
          return;
        }
        case OTHERS -> {
          giveBack(session, report.token());
          timers.park(this, pause);
          pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);
        }
        case DEAD -> LOG.debug("Passed over a token of step {}.", report.token());
        case ANEW -> {
          if (replicas.hasSpares() && report.isAnswer()) {
            giveBack(session, report.token());
          }
          throw new MillraceException(
              Code.ABORTED,
              "the chief has prepared the model anew, and gradients of before are not waited for");
        }
      }
      report = takeAgain(session, options);
    }
  }

  /** Once the chief has closed the queue nobody wants the token; the next attempt to take tells. */
  private void giveBack(Session session, long token) {
    try (Tensor t = Tensor.scalar(token)) {
      session.run(Map.of(nodes.returned(), t), nodes.giveBack());
    } catch (MillraceException e) {
      if (e.code() != Code.CANCELLED) {
        throw e;
      }
      LOG.debug("Token {} was not given back: {}", token, e.getMessage());
    }
  }

  private TokenReport takeAgain(Session session, RunOptions options) {
    SyncNodes.Again again = nodes.takeAgain();
    try (Tensor t =
        session.run(Map.of(), List.of(again.report()), List.of(again.take()), options).getFirst()) {
      return TokenReport.of(t);
    }
  }

  /** How late this worker's gradients were; those late by 1 or more were dropped. */
  public Staleness staleness() {
    return staleness;
  }

  /** Those late by 1 or more, {@code staleness/late}, were dropped. */
  @Override
  public void figures(BiConsumer<String, Double> to) {
    staleness.figures("staleness", to);
  }

  @Override
  public void end(Session session) {
    leave(session);
  }

  @Override
  public void abandon(Session session, MillraceException cause) {
    leave(session);
  }

  /** The chief frees all who wait; any other worker sees to it that nobody waits for it. */
  private void leave(Session session) {
    LOG.info("This worker's gradients: {}.", staleness);
    leaving = true;
    Node last = chief ? nodes.cancel() : nodes.leave();
    try {
      session.run(Map.of(), List.of(), List.of(last), LEAVE);
    } catch (MillraceException e) {
      LOG.warn("Could not tell the others that this worker leaves: {}", e.getMessage());
    }
  }

  @Override
  public String waitsFor() {
    String gradients = "the gradients of " + replicas + " for global step " + step;
    return chief ? gradients : "a token from the chief, which waits for " + gradients;
  }
}
