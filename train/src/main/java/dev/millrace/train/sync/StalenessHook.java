package dev.millrace.train.sync;

import dev.millrace.runtime.Session;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.variable.GraphVariable;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Measures staleness where workers do not wait for each other: the updates that others made between
 * two of this worker's steps are those it did not see when it computed the second.
 */
public final class StalenessHook implements SessionRunHook {
  private static final Logger LOG = LoggerFactory.getLogger(StalenessHook.class);

  private final GraphVariable step;
  private final Staleness staleness = new Staleness();
  private long last = -1;

  /** Measures by {@code globalStep}; logs at the end. */
  public StalenessHook(GraphVariable globalStep) {
    this.step = globalStep;
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    last = -1;
    staleness.show();
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    return SessionRunArgs.fetching(step.read());
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    long now = values.value(step.read()).longValue();
    if (last >= 0) {
      staleness.add(Math.max(0, now - last - 1));
    }
    last = now;
  }

  @Override
  public void end(Session session) {
    LOG.info("This worker's gradients: {}.", staleness);
  }

  @Override
  public void figures(BiConsumer<String, Double> to) {
    staleness.figures("staleness", to);
  }

  /** What was measured so far. */
  public Staleness staleness() {
    return staleness;
  }
}
