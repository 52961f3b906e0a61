package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.cluster.InProcessCluster;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.junit.TestCluster;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sessions on a cluster in this process, for what a job does not show. */
@TestCluster(ps = 2, workers = 1)
class EmbeddingTest {
  @Test
  @Timeout(60)
  void anIdOutsideTheTableIsRefused(InProcessCluster cluster) {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph).withDevice(ReplicaDeviceSetter.of(2, "/job:worker/task:0"));
    GraphVariable ads =
        VariableScope.of(scope).variable("ads", Shape.of(500, 8), Initializers.zeros());
    Output ids = Placeholder.of(scope, DType.INT64, Shape.of(-1));
    Output rows = Embedding.lookup(scope, ads, ids);
    try (Session session = cluster.server("worker", 0).session(graph)) {
      session.run(Variables.initializer(scope));
      Tensor both = session.fetch(rows, Map.of(ids, Tensor.vector(0L, 499L)));
      assertEquals(Shape.of(2, 8), both.shape());
      Tensor beyond = Tensor.vector(500L);
      MillraceException e =
          assertThrows(MillraceException.class, () -> session.fetch(rows, Map.of(ids, beyond)));
      assertTrue(e.getMessage().contains("500"), e.getMessage());
    }
  }
}
