package dev.millrace.train.job;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.train.hook.Coordinator;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class StopRequestTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final Graph graph = new Graph(StandardOps.registry());
  private final StopRequest chief = new StopRequest(Scope.of(graph), "", true);
  private final StopRequest worker = new StopRequest(Scope.of(graph), "", false);

  private static void awaitRaised(StopRequest request, Coordinator coordinator) throws Exception {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!request.isRaised() && System.nanoTime() < end) {
      coordinator.awaitStop(Duration.ofMillis(20));
    }
    assertTrue(request.isRaised(), "not seen within " + PATIENCE.toSeconds() + " s");
  }

  @Test
  void aRequestOfAWorkerThatTrainsBeforeTheChiefIsSeenByTheChief() throws Exception {
    Coordinator coordinator = new Coordinator();
    try (Session session = new LocalSession(graph)) {
      chief.beforePreparing(session);
      worker.afterCreateSession(session, coordinator);
      worker.raise();
      chief.afterCreateSession(session, coordinator);
      awaitRaised(chief, coordinator);
      coordinator.requestStop();
      coordinator.join(PATIENCE);
    }
  }

  @Test
  void workersTellAChiefThatHasFinishedFromARequest() throws Exception {
    Coordinator coordinator = new Coordinator();
    try (Session session = new LocalSession(graph)) {
      chief.beforePreparing(session);
      worker.afterCreateSession(session, coordinator);
      chief.end(session);
      awaitRaised(worker, coordinator);
      assertTrue(worker.isFinished());
      coordinator.requestStop();
      coordinator.join(PATIENCE);
    }
  }

  @Test
  void aRequestThatTheChiefHasFollowedRemainsARequest() throws Exception {
    Coordinator coordinator = new Coordinator();
    try (Session session = new LocalSession(graph)) {
      chief.beforePreparing(session);
      chief.raise();
      chief.end(session);
      worker.afterCreateSession(session, coordinator);
      awaitRaised(worker, coordinator);
      assertFalse(worker.isFinished());
      coordinator.requestStop();
      coordinator.join(PATIENCE);
    }
  }

  @Test
  void theRequestOfAnEarlierJobIsCleared() throws Exception {
    Coordinator coordinator = new Coordinator();
    try (Session session = new LocalSession(graph)) {
      worker.afterCreateSession(session, coordinator);
      worker.raise();
      chief.beforePreparing(session);
      StopRequest next = new StopRequest(Scope.of(graph), "", false);
      next.afterCreateSession(session, coordinator);
      chief.afterCreateSession(session, coordinator);
      coordinator.awaitStop(Duration.ofSeconds(2));
      assertFalse(chief.isRaised());
      assertFalse(next.isRaised());
      coordinator.requestStop();
      coordinator.join(PATIENCE);
    }
  }
}
