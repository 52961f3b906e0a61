package dev.millrace.train.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class QueueRunnerTest {
  private static final TrainingSettings QUIET =
      TrainingSettings.DEFAULT.withLogEverySteps(0).withMaxWait(Duration.ofSeconds(20));

  /** Sums what comes through a short queue, which two threads fill from a source that ends. */
  private static final class Summing {
    final Scope scope = Scope.of(new Graph(StandardOps.registry()));
    final Output source = queue(scope, "source", -1);
    final Output input = queue(scope, "input", 2);
    final GraphVariable sum =
        VariableScope.of(scope).variable("sum", Shape.scalar(), Initializers.zeros());
    final Node fill =
        QueueAccess.enqueueMany(
            scope, source, List.of(Const.of(scope, Tensor.vector(1f, 2f, 3f, 4f, 5f))));
    final Node end = QueueAccess.close(scope, source, false);
    final Node step = sum.assignAdd(scope, taken(scope, input));

    Summing() {
      Node moved = QueueAccess.enqueue(scope, input, List.of(taken(scope, source)));
      Node alsoMoved = QueueAccess.enqueue(scope, input, List.of(taken(scope, source)));
      QueueRunner.add(scope, input, List.of(moved, alsoMoved));
    }

    private static Output queue(Scope scope, String name, int capacity) {
      return scope
          .withName(name)
          .node("FIFOQueueV2")
          .attr("component_types", List.of(DType.FLOAT))
          .attr("shapes", List.of(Shape.scalar()))
          .attr("capacity", capacity)
          .add()
          .output();
    }

    private static Output taken(Scope scope, Output queue) {
      return QueueAccess.dequeue(scope, queue, List.of(DType.FLOAT)).output(0);
    }

    void provide(Session session) {
      session.run(fill);
      session.run(end);
    }
  }

  @Test
  void trainingEndsWhenTheInputHasAndEverythingWasTaken() {
    Summing m = new Summing();
    try (var s =
        MonitoredTrainingSession.start(
            m.scope, LocalSession::new, QUIET, Scaffold.DEFAULT.withAfterInitialize(m::provide))) {
      s.loop(t -> t.run(Map.of(), List.of(), List.of(m.step)));
      try (Tensor sum = s.raw().fetch(m.sum.read())) {
        assertEquals(15, sum.floatValue());
      }
    }
  }

  @Test
  void threadsThatWaitForRoomEndWithTraining() {
    Summing m = new Summing();
    try (var s =
        MonitoredTrainingSession.start(
            m.scope,
            LocalSession::new,
            QUIET,
            Scaffold.DEFAULT.withAfterInitialize(x -> x.run(m.fill)))) {
      s.run(Map.of(), List.of(), List.of(m.step));
    }
  }

  @Test
  void queueThatNothingFillsIsRefused() {
    Scope scope = Scope.of(new Graph(StandardOps.registry()));
    Output queue = Summing.queue(scope, "input", 2);
    assertThrows(MillraceException.class, () -> QueueRunner.add(scope, queue, List.of()));
  }
}
