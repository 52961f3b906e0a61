package dev.millrace.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.InProcessCluster;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

@TestCluster(workers = 2)
class TestClusterTest {
  private InProcessCluster early;

  @BeforeEach
  void remember(InProcessCluster cluster) {
    assertNotSame(early, cluster);
    early = cluster;
  }

  @Test
  void aStepRunsOnItsTasks(InProcessCluster cluster) {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    Output onPs = Const.of(scope.withDevice("/job:ps/task:0"), Tensor.scalar(3f));
    Output onWorker = Identity.of(scope.withDevice("/job:worker/task:1"), onPs);
    try (ClusterSession session = cluster.server("worker", 0).session(graph)) {
      assertEquals(3f, session.fetch(onWorker).floatValue());
    }
  }

  @Test
  void theMethodsOfATestSeeOneCluster(InProcessCluster cluster) {
    assertSame(early, cluster);
    assertEquals(3, cluster.servers().size());
  }

  @Test
  @TestCluster(ps = 0, workers = 1)
  void theAnnotationOfAMethodReplacesThatOfItsClass(InProcessCluster cluster) {
    assertEquals("[worker/0]", cluster.spec().tasks().toString());
  }

  @Nested
  class Inner {
    @Test
    void hasTheClusterOfTheOuterClass(InProcessCluster cluster) {
      assertEquals(3, cluster.servers().size());
    }
  }
}
