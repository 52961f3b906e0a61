package dev.millrace.job;

import dev.millrace.collective.Ring;
import dev.millrace.ring.DistributedOptimizer;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.optimizer.Minimizer;
import dev.millrace.train.sync.BoundedStaleness;
import dev.millrace.train.sync.SyncReplicasOptimizer;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;

/**
 * How the workers of a job train one model together.
 *
 * @param minimizer what stands around the optimizer of a worker
 * @param hooks the hooks that belong to it, asked for once its nodes are in the graph
 */
record Cooperation(Minimizer minimizer, Supplier<List<SessionRunHook>> hooks) {
  private static final Duration LAGGARD_PATIENCE = Duration.ofMinutes(1);

  /** Wraps the optimizer of a worker. */
  @FunctionalInterface
  interface Around {
    Cooperation of(Minimizer optimizer);
  }

  /** A worker on its own, or one that does not wait for the others. */
  static Cooperation none(Minimizer optimizer) {
    return new Cooperation(optimizer, List::of);
  }

  /** Gradients are averaged around {@code ring}. */
  static Around ring(Ring ring) {
    return m -> none(new DistributedOptimizer(ring, m));
  }

  /** Worker {@code index} of {@code workers} on parameter servers. */
  static Around ofWorker(TrainingPlan settings, int index, int workers) {
    boolean chief = index == 0;
    return switch (settings.mode()) {
      case SYNC ->
          m -> {
            int needed = workers - settings.backupWorkers();
            SyncReplicasOptimizer sync = new SyncReplicasOptimizer(m, needed, workers);
            return new Cooperation(sync, () -> List.of(sync.hook(chief)));
          };
      case BOUNDED ->
          m -> {
            int bound = settings.stalenessBound();
            BoundedStaleness bounded = new BoundedStaleness(m, workers, index, bound);
            return new Cooperation(bounded, () -> List.of(bounded.hook(chief, LAGGARD_PATIENCE)));
          };
      default -> Cooperation::none;
    };
  }
}
