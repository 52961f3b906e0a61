package dev.millrace.job;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cluster.HeldPorts;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.collective.Ring;
import dev.millrace.collective.Settings;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.job.ending.StopSwitch;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All tasks, or all ranks, of a job as threads of this process, which talk to each other as
 * processes do.
 *
 * <p>Threading: used by one thread.
 */
final class InProcessJob {
  private static final Logger LOG = LoggerFactory.getLogger(InProcessJob.class);

  /** How long tasks have to end when one of them has failed, or the chief is done. */
  private static final Duration LEAVE = Duration.ofSeconds(30);

  /** The same where the first task has failed. */
  private static final Duration LEAVE_CHIEF = Duration.ofSeconds(5);

  private final Trainer trainer;
  private final ParameterServer server;
  private final StopSwitch stop;
  private final List<CompletableFuture<JobResult>> tasks = new ArrayList<>();

  InProcessJob(Trainer trainer, ParameterServer server, StopSwitch stop) {
    this.trainer = trainer;
    this.server = server;
    this.stop = stop;
  }

  /** Trains with {@code ps} parameter servers and {@code workers}. */
  JobResult cluster(int ps, int workers) {
    // Held to the end: a task that is slow to start must find its port free.
    try (HeldPorts ports = HeldPorts.take(ps + workers)) {
      List<String> all = ports.addresses();
      return cluster(
          ClusterSpec.of(Map.of("ps", all.subList(0, ps), "worker", all.subList(ps, ps + workers))),
          ps,
          workers);
    }
  }

  private JobResult cluster(ClusterSpec spec, int ps, int workers) {
    for (int i = 0; i < workers; i++) {
      TaskId id = new TaskId("worker", i);
      start(id.toString(), () -> trainer.work(spec, id, true));
    }
    for (int i = 0; i < ps; i++) {
      TaskId id = new TaskId("ps", i);
      start(
          id.toString(),
          () -> {
            server.serve(spec, id);
            return null;
          });
    }
    return await();
  }

  /** Trains with {@code ranks} of a ring. */
  JobResult ring(int ranks) {
    String name = "job-" + UUID.randomUUID();
    for (int i = 0; i < ranks; i++) {
      RankConfig place = new RankConfig(i, ranks, null, null, null, "127.0.0.1", name, i == 0);
      start(
          "rank " + i,
          () -> {
            try (Ring ring = Ring.init(Settings.of(place))) {
              return trainer.rank(ring);
            }
          });
    }
    return await();
  }

  private void start(String name, Callable<JobResult> body) {
    CompletableFuture<JobResult> done = new CompletableFuture<>();
    tasks.add(done);
    Thread.ofPlatform()
        .daemon()
        .name("millrace-" + name)
        .start(
            () -> {
              try {
                done.complete(body.call());
              } catch (Throwable e) { // an Error too: whoever waits has to hear of it
                done.completeExceptionally(e);
              }
            });
  }

  /** The result of the first task, once all have ended; the failure of the first to fail. */
  private JobResult await() {
    CompletableFuture<Void> failed = new CompletableFuture<>();
    tasks.forEach(t -> t.whenComplete((r, e) -> failOn(failed, e)));
    CompletableFuture<Void> all = CompletableFuture.allOf(tasks.toArray(CompletableFuture[]::new));
    try {
      CompletableFuture.anyOf(all, failed).join();
    } catch (CompletionException e) {
      stop.raise();
      // Without its first task the job saves nothing, and the others wait for what will not come.
      awaitEnd(all, tasks.getFirst().isCompletedExceptionally() ? LEAVE_CHIEF : LEAVE);
      throw MillraceException.of(cause(e));
    }
    return tasks.getFirst().join();
  }

  private static void awaitEnd(CompletableFuture<Void> all, Duration limit) {
    CountDownLatch over = new CountDownLatch(1);
    all.whenComplete((x, e) -> over.countDown());
    try {
      if (!Timers.system().await(over, limit.toNanos())) {
        LOG.warn("Some tasks did not end within {} s of the failure.", limit.toSeconds());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void failOn(CompletableFuture<Void> failed, Throwable e) {
    if (e != null) {
      failed.completeExceptionally(e);
    }
  }

  private static Throwable cause(CompletionException e) {
    return e.getCause() == null ? e : e.getCause();
  }
}
