package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class KilledTaskTest {
  @Test
  void aTaskKilledBetweenStepsIsNamedAtOnce() throws Exception {
    List<String> a = FreePorts.addresses(2);
    ClusterSpec cluster =
        ClusterSpec.of(Map.of("ps", List.of(a.get(0)), "worker", List.of(a.get(1))));
    try (ServerProcess ps = ServerProcess.start(cluster, "ps");
        Server worker = Server.start(cluster, new TaskId("worker", 0), StandardOps.registry())) {
      Graph g = StandardOps.newGraph();
      Scope s = Scope.of(g);
      Output x = Placeholder.of(s, DType.FLOAT, Shape.of(-1));
      Output far = s.withDevice("/job:ps/task:0").node("Neg").input(x).add().output();
      Output y = s.withDevice("/job:worker/task:0").node("Square").input(far).add().output();
      try (Session session = new ClusterSession(g, worker.target())) {
        Map<Output, Tensor> feeds = Map.of(x, Tensor.vector(3f));
        assertEquals(9f, session.fetch(y, feeds).floatValue());
        ps.kill();
        long start = System.nanoTime();
        MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(y, feeds));
        double seconds = (System.nanoTime() - start) / 1e9;
        assertTrue(seconds < 5, "took " + seconds + " s");
        assertEquals(Code.UNAVAILABLE, e.code(), e::getMessage);
        assertTrue(e.getMessage().contains("/job:ps/replica:0/task:0"), e::getMessage);
        assertTrue(e.getMessage().contains(a.get(0)), e::getMessage);
      }
    }
  }
}
