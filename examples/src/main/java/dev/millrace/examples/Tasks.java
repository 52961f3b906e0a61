package dev.millrace.examples;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cluster.InProcessCluster;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.TfConfig;
import dev.millrace.collective.Ring;
import dev.millrace.collective.Settings;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.ops.StandardOps;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Runs the tasks of an example: the one that this process is by its environment or, where that
 * names none, all of them here, a thread each.
 */
final class Tasks {
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  private Tasks() {}

  /**
   * Runs {@code task} as the task that {@code TF_CONFIG} names, or as every task of {@code jobs}.
   *
   * @return the chief's result; tasks that have none return NaN
   */
  static double run(Map<String, Integer> jobs, ToDoubleFunction<Server> task) {
    TfConfig config = TfConfig.ofEnvironment();
    if (config != null) {
      try (Server server = Server.start(config.cluster(), config.task(), StandardOps.registry())) {
        return task.applyAsDouble(server);
      }
    }
    try (InProcessCluster cluster = InProcessCluster.start(jobs, StandardOps.registry())) {
      List<Callable<Double>> tasks = new ArrayList<>();
      cluster.servers().forEach(server -> tasks.add(() -> task.applyAsDouble(server)));
      return all(tasks).stream().filter(r -> !r.isNaN()).findFirst().orElse(Double.NaN);
    }
  }

  /**
   * Runs ranks of a ring: the one that a launcher has started, or else {@code size} ranks in this
   * process.
   */
  static <T> List<T> ranks(int size, Function<Ring, T> rank) {
    if (RankConfig.fromEnvironment().size() > 1) {
      try (Ring ring = Ring.init()) {
        return List.of(rank.apply(ring));
      }
    }
    String job = "example-" + UUID.randomUUID();
    List<Callable<T>> ranks = new ArrayList<>();
    for (int r = 0; r < size; r++) {
      RankConfig place = new RankConfig(r, size, null, null, null, "127.0.0.1", job, r == 0);
      ranks.add(
          () -> {
            try (Ring ring = Ring.init(Settings.of(place))) {
              return rank.apply(ring);
            }
          });
    }
    return all(ranks);
  }

  /** Runs all at once; the first that fails is reported. */
  private static <T> List<T> all(List<Callable<T>> tasks) {
    ExecutorService threads =
        Executors.newThreadPerTaskExecutor(
            Thread.ofPlatform().name("example-", 0).daemon().factory());
    try {
      BlockingQueue<Future<T>> ends = new LinkedBlockingQueue<>();
      ExecutorCompletionService<T> running = new ExecutorCompletionService<>(threads, ends);
      List<Future<T>> results = tasks.stream().map(running::submit).toList();
      long deadline = Timers.system().now() + PATIENCE.toNanos();
      for (int ended = 0; ended < tasks.size(); ended++) {
        Future<T> next = Timers.system().poll(ends, deadline - Timers.system().now());
        if (next == null) {
          throw new MillraceException(
              Code.DEADLINE_EXCEEDED,
              "%d of %d tasks have not ended within %d minutes."
                  .formatted(tasks.size() - ended, tasks.size(), PATIENCE.toMinutes()));
        }
        next.get();
      }
      return results.stream().map(Future::resultNow).toList();
    } catch (ExecutionException e) {
      throw MillraceException.of(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Interrupted while the tasks were running.");
    } finally {
      threads.shutdownNow();
    }
  }
}
