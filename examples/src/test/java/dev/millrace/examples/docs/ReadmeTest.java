package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.InProcessCluster;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The sample of the README. */
class ReadmeTest {
  @Test
  void aSessionOnAClusterRunsTheGraph() {
    try (InProcessCluster cluster =
        InProcessCluster.start(Map.of("ps", 1, "worker", 1), StandardOps.registry())) {
      String target = cluster.server("worker", 0).target();
      Tensor images = Tensor.of(Shape.of(2, 784), new float[2 * 784]);
      // sample session
      Graph graph = StandardOps.newGraph();
      // Variables on the parameter server, all else on the worker.
      Scope scope = Scope.of(graph).withDevice(ReplicaDeviceSetter.of(1, "/job:worker/task:0"));
      Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, 784));
      Output y = Dense.of(VariableScope.of(scope), "logits", x, 10);
      try (Session session = new ClusterSession(graph, target)) { // grpc://localhost:2221
        session.run(Variables.initializer(scope));
        Tensor logits = session.fetch(y, Map.of(x, images));
        System.out.println(logits);
      }
      // end
      try (Session session = new ClusterSession(graph, target);
          Tensor logits = session.fetch(y, Map.of(x, images))) {
        assertEquals(Shape.of(2, 10), logits.shape());
        assertArrayEquals(new float[20], logits.toFloats());
      }
    }
  }
}
