package dev.millrace.train.sync;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.train.hook.SmallCluster;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.LineModel;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

class BoundedStalenessTest {
  private static final TrainingSettings QUIET =
      TrainingSettings.DEFAULT.withLogEverySteps(0).withMaxWait(Duration.ofSeconds(60));

  /** A worker that runs at most two steps ahead. */
  private static final class Worker implements AutoCloseable {
    final LineModel model;
    final BoundedStalenessHook hook;
    final MonitoredTrainingSession session;

    Worker(SmallCluster cluster, int index, Duration patience) {
      BoundedStaleness optimizer = new BoundedStaleness(new GradientDescent(.01f), 2, index, 2);
      model = new LineModel(cluster.placementOf(index), optimizer);
      hook = optimizer.hook(index == 0, patience);
      session =
          MonitoredTrainingSession.start(
              model.scope, cluster.sessionsOf(index), QUIET.withChief(index == 0).withHooks(hook));
    }

    void steps(int n) {
      for (int i = 0; i < n; i++) {
        model.step(session);
      }
    }

    @Override
    public void close() {
      session.close();
    }
  }

  @Test
  void workerWaitsWhenItIsTooFarAhead() throws Exception {
    try (SmallCluster cluster = new SmallCluster(1, 2);
        Worker fast = new Worker(cluster, 0, Duration.ofSeconds(60));
        Worker slow = new Worker(cluster, 1, Duration.ofSeconds(60))) {
      fast.steps(3);
      CompletableFuture<Void> rest = CompletableFuture.runAsync(() -> fast.steps(3));
      assertThrows(TimeoutException.class, () -> rest.get(300, TimeUnit.MILLISECONDS));
      slow.steps(4);
      rest.get(60, TimeUnit.SECONDS);
      assertEquals(2, fast.hook.ahead().max());
      assertEquals(10, fast.model.stepOf(fast.session.raw()));
    }
  }

  @Test
  void workerThatDoesNotMoveIsGivenUpAndJoinsAgain() throws Exception {
    try (SmallCluster cluster = new SmallCluster(1, 2);
        Worker fast = new Worker(cluster, 0, Duration.ofMillis(300));
        Worker stuck = new Worker(cluster, 1, Duration.ofMillis(300))) {
      fast.steps(1);
      fast.steps(8);
      stuck.steps(2);
      assertTrue(stuck.hook.ahead().max() <= 2);
      assertEquals(11, fast.model.stepOf(fast.session.raw()));
    }
  }

  /** Such as one that was paused just then, while the others went on without it. */
  @Test
  void workerThatIsCountedOutWhileItWaitsJoinsAgain() throws Exception {
    try (SmallCluster cluster = new SmallCluster(1, 2);
        Worker waiting = new Worker(cluster, 0, Duration.ofSeconds(60));
        Worker other = new Worker(cluster, 1, Duration.ofSeconds(60))) {
      waiting.steps(3);
      CompletableFuture<Void> next = CompletableFuture.runAsync(() -> waiting.steps(1));
      assertThrows(TimeoutException.class, () -> next.get(300, TimeUnit.MILLISECONDS));
      other.hook.countOut(other.session.raw(), 0);
      next.get(30, TimeUnit.SECONDS);
      assertTrue(waiting.hook.ahead().max() <= 2);
    }
  }

  @Test
  void workerThatLeftIsNotWaitedFor() throws Exception {
    try (SmallCluster cluster = new SmallCluster(1, 2);
        Worker stays = new Worker(cluster, 0, Duration.ofSeconds(60))) {
      try (Worker leaves = new Worker(cluster, 1, Duration.ofSeconds(60))) {
        leaves.steps(1);
      }
      stays.steps(6);
      assertEquals(7, stays.model.stepOf(stays.session.raw()));
    }
  }
}
