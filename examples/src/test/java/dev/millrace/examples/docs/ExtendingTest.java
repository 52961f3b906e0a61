package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.HeldPorts;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.StateId;
import dev.millrace.graph.resource.Variable;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The samples of extending.md. */
class ExtendingTest {
  /** Counts what it is asked to do, and keeps state in memory. */
  private static final class CountingStore implements VariableStore {
    final AtomicInteger created = new AtomicInteger();
    final AtomicInteger committed = new AtomicInteger();

    @Override
    public Variable create(StateId id, DType dtype) {
      created.incrementAndGet();
      return MEMORY.create(id, dtype);
    }

    @Override
    public void commit(long stepId) {
      committed.incrementAndGet();
    }
  }

  @Test
  void aStoreSeesTheStepsOfServersAndOfLocalSessions() {
    CountingStore store = new CountingStore();
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    Output variable = VariableV2.of(scope, DType.FLOAT, Shape.of(2));
    Output assigned = Assign.of(scope, variable, Const.of(scope, Tensor.vector(1f, 2f))).output();
    try (HeldPorts ports = HeldPorts.take(1)) {
      ClusterSpec cluster = ClusterSpec.of(Map.of("ps", ports.addresses()));
      TaskId task = new TaskId("ps", 0);
      // sample store
      try (Server server = Server.start(cluster, task, StandardOps.registry(), store);
          Session remote = new ClusterSession(graph, server.target());
          Session local = new LocalSession(graph, SessionOptions.DEFAULT.withStore(store))) {
        // end
        for (Session session : List.of(remote, local)) {
          int created = store.created.get();
          int committed = store.committed.get();
          try (Tensor value = session.fetch(assigned)) {
            assertArrayEquals(new float[] {1, 2}, value.toFloats());
          }
          assertTrue(store.created.get() > created, "the session made no variable in the store");
          assertTrue(store.committed.get() > committed, "the step was not committed");
        }
      }
    }
  }
}
