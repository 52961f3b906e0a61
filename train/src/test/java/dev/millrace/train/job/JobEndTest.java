package dev.millrace.train.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.checkpoint.CheckpointFolder;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SmallCluster;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.LineModel;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JobEndTest {
  @TempDir Path folder;

  /** A worker of asynchronous training that can be asked to stop. */
  private static final class Worker {
    final LineModel model;
    final StopRequest stop;
    final MonitoredTrainingSession session;

    Worker(SmallCluster cluster, int index, Path folder) {
      model = new LineModel(cluster.placementOf(index), new GradientDescent(.01f));
      stop = new StopRequest(model.scope, "/job:ps/task:0", index == 0);
      session =
          MonitoredTrainingSession.start(
              model.scope,
              cluster.sessionsOf(index),
              TrainingSettings.DEFAULT
                  .withLogEverySteps(0)
                  .withMaxWait(Duration.ofSeconds(60))
                  .withChief(index == 0)
                  .withFolder(index == 0 ? folder : null)
                  .withHooks(stop, JobEnd.hook(model.scope, 2, index)));
    }
  }

  private static List<CompletableFuture<JobEnd.Outcome>> serve(
      SmallCluster cluster, int workers, Duration grace) {
    List<CompletableFuture<JobEnd.Outcome>> outcomes = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      int index = i;
      outcomes.add(
          CompletableFuture.supplyAsync(
              () ->
                  JobEnd.await(
                      StandardOps.registry(), cluster.sessionsOfPs(index), index, workers, grace)));
    }
    return outcomes;
  }

  // README claim: run-end
  @Test
  void parameterServersLeaveWhenAllWorkersAreDone() throws Exception {
    try (SmallCluster cluster = new SmallCluster(2, 2)) {
      var outcomes = serve(cluster, 2, Duration.ofSeconds(60));
      Worker chief = new Worker(cluster, 0, null);
      Worker other = new Worker(cluster, 1, null);
      chief.model.step(chief.session);
      chief.session.close();
      other.model.step(other.session);
      assertFalse(outcomes.getFirst().isDone());
      other.session.close();
      for (var o : outcomes) {
        assertEquals(0, o.get(30, TimeUnit.SECONDS).exitCode());
      }
    }
  }

  @Test
  void failureOfTheChiefIsTheOutcome() throws Exception {
    try (SmallCluster cluster = new SmallCluster(2, 2)) {
      var outcomes = serve(cluster, 2, Duration.ofMillis(500));
      Worker chief = new Worker(cluster, 0, null);
      assertThrows(
          MillraceException.class,
          () ->
              chief.session.loop(
                  s -> {
                    throw new MillraceException(Code.INVALID_ARGUMENT, "no such file");
                  }));
      chief.session.close();
      for (var o : outcomes) {
        JobEnd.Outcome outcome = o.get(30, TimeUnit.SECONDS);
        assertEquals(1, outcome.exitCode());
        assertEquals("worker/0 failed: no such file", outcome.cause());
      }
    }
  }

  @Test
  void chiefOfAJobOfItsOwnDecides() throws Exception {
    try (SmallCluster cluster = new SmallCluster(1, 2)) {
      CompletableFuture<JobEnd.Outcome> outcome = end(cluster, "chief/0", "worker/0");
      lastWord(cluster, 0, "worker/0", null);
      // Worker 0 is not the chief: the job goes on, however that one ended.
      assertThrows(TimeoutException.class, () -> outcome.get(300, TimeUnit.MILLISECONDS));
      lastWord(cluster, 1, "chief/0", new MillraceException(Code.ABORTED, "tired"));
      assertEquals("chief/0 failed: tired", outcome.get(30, TimeUnit.SECONDS).cause());
    }
  }

  @Test
  void aFailureIsNotTakenForWhatItsMessageEndsWith() {
    assertEquals(0, JobEnd.Outcome.of("worker/0 ok").exitCode());
    assertEquals(1, JobEnd.Outcome.of("worker/0 failed: the disk is not ok").exitCode());
    assertTrue(JobEnd.Outcome.of("worker/0 stopped").isStopped());
    assertFalse(JobEnd.Outcome.of("worker/0 failed: its input has stopped").isStopped());
  }

  @Test
  void whoHasLeftIsNotWaitedForUntilItIsBack() throws Exception {
    try (SmallCluster cluster = new SmallCluster(1, 2)) {
      CompletableFuture<JobEnd.Outcome> outcome = end(cluster, "worker/0", "worker/1", "worker/2");
      // The chief, too, may leave and come back: that is not the end.
      for (String word :
          List.of(
              "worker/0 left",
              "worker/0 trains",
              "worker/1 left",
              "worker/2 left",
              "worker/1 trains",
              "worker/0 ok")) {
        put(cluster, word);
      }
      assertThrows(TimeoutException.class, () -> outcome.get(600, TimeUnit.MILLISECONDS));
      put(cluster, "worker/1 ok");
      assertEquals(0, outcome.get(30, TimeUnit.SECONDS).exitCode());
    }
  }

  /** What the parameter server hears of the end of a job of these tasks. */
  private static CompletableFuture<JobEnd.Outcome> end(SmallCluster cluster, String... tasks) {
    return CompletableFuture.supplyAsync(
        () ->
            JobEnd.await(
                StandardOps.registry(),
                cluster.sessionsOfPs(0),
                0,
                List.of(tasks),
                Duration.ofSeconds(60),
                Platform.system()));
  }

  /** Puts a word into the queue, as whatever program may do. */
  private static void put(SmallCluster cluster, String word) {
    Scope scope = Scope.of(StandardOps.newGraph()).withDevice("/job:ps/task:0");
    Output queue =
        scope
            .node("FIFOQueueV2")
            .attr("component_types", List.of(DType.STRING))
            .attr("shapes", List.of(Shape.scalar()))
            .attr("shared_name", JobEnd.QUEUE)
            .add()
            .output();
    Node put = QueueAccess.enqueue(scope, queue, List.of(Const.of(scope, Tensor.scalar(word))));
    try (Session session = cluster.sessionsOf(0).open(scope.graph())) {
      session.run(put);
    }
  }

  /** A step that waited for a word could lose it when its time is over, and would be logged. */
  @Test
  void aWordIsTakenWhenItIsThereAndNotWaitedFor() throws Exception {
    try (SmallCluster cluster = new SmallCluster(1, 1)) {
      AtomicInteger taken = new AtomicInteger();
      CompletableFuture<JobEnd.Outcome> outcome =
          CompletableFuture.supplyAsync(
              () ->
                  JobEnd.await(
                      StandardOps.registry(),
                      g -> counting(cluster.sessionsOfPs(0).open(g), "QueueDequeueV2", taken),
                      0,
                      1,
                      Duration.ofSeconds(60)));
      assertThrows(TimeoutException.class, () -> outcome.get(300, TimeUnit.MILLISECONDS));
      assertEquals(0, taken.get());
      lastWord(cluster, 0, "worker/0", null);
      assertEquals(0, outcome.get(30, TimeUnit.SECONDS).exitCode());
      assertEquals(1, taken.get());
    }
  }

  /** The same session, which counts the steps that fetch from an op. */
  private static Session counting(Session session, String op, AtomicInteger steps) {
    return new Session() {
      @Override
      public List<Tensor> run(
          Map<Output, Tensor> feeds, List<Output> fetches, List<Node> targets, RunOptions options) {
        if (fetches.stream().anyMatch(f -> f.node().op().name().equals(op))) {
          steps.incrementAndGet();
        }
        return session.run(feeds, fetches, targets, options);
      }

      @Override
      public Callable makeCallable(List<Output> feeds, List<Output> fetches, List<Node> targets) {
        throw new UnsupportedOperationException("not counted");
      }

      @Override
      public void close() {
        session.close();
      }
    };
  }

  @Test
  void aJobThatWasToldToStopLeavesWithTheCodeOfSigterm() throws Exception {
    try (SmallCluster cluster = new SmallCluster(1, 1)) {
      CompletableFuture<JobEnd.Outcome> outcome =
          CompletableFuture.supplyAsync(
              () -> JobEnd.await(StandardOps.registry(), cluster.sessionsOfPs(0), 0, 1));
      LineModel model = new LineModel(cluster.placementOf(0), new GradientDescent(.01f));
      SessionRunHook hook = JobEnd.hook(model.scope, 1, "worker/0", () -> true);
      try (Session session = cluster.sessionsOf(0).open(model.scope.graph())) {
        hook.end(session);
      }
      JobEnd.Outcome stopped = outcome.get(30, TimeUnit.SECONDS);
      assertEquals("worker/0 stopped", stopped.cause());
      assertEquals(143, stopped.exitCode());
    }
  }

  /** Says it through worker {@code index}, whoever is meant by it. */
  private static void lastWord(
      SmallCluster cluster, int index, String task, MillraceException cause) {
    LineModel model = new LineModel(cluster.placementOf(index), new GradientDescent(.01f));
    SessionRunHook hook = JobEnd.hook(model.scope, 1, task);
    try (Session session = cluster.sessionsOf(index).open(model.scope.graph())) {
      if (cause == null) {
        hook.end(session);
      } else {
        hook.abandon(session, cause);
      }
    }
  }

  @Test
  void workerThatSaysNothingIsWaitedForOnlyAWhile() throws Exception {
    try (SmallCluster cluster = new SmallCluster(2, 2)) {
      var outcomes = serve(cluster, 2, Duration.ofMillis(200));
      Worker chief = new Worker(cluster, 0, null);
      chief.session.close();
      for (var o : outcomes) {
        assertEquals(0, o.get(30, TimeUnit.SECONDS).exitCode());
      }
    }
  }

  @Test
  void anyTaskCanStopTheJobWithOneSave() throws Exception {
    try (SmallCluster cluster = new SmallCluster(2, 2)) {
      Worker chief = new Worker(cluster, 0, folder);
      Worker other = new Worker(cluster, 1, null);
      CompletableFuture<Void> training =
          CompletableFuture.runAsync(
              () -> {
                try (MonitoredTrainingSession s = chief.session) {
                  s.loop(chief.model::step);
                }
              });
      other.model.step(other.session);
      other.stop.raise();
      training.get(60, TimeUnit.SECONDS);
      assertTrue(
          other.model.stepOf(other.session.raw()) > 1, "the chief made no step before the end");
      assertEquals(
          folder.resolve("model.ckpt-" + other.model.stepOf(other.session.raw())),
          CheckpointFolder.latest(folder).orElseThrow());
      other.session.close();
    }
  }
}
