package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import org.junit.jupiter.api.Test;

class StatusCommandTest {
  @Test
  void tasksThatRunAreUpAndTheGlobalStepIsRead() {
    try (RunningCluster cluster = new RunningCluster().start("ps").start("worker")) {
      Ran before = cluster.ran("status", "--interval", "0");
      assertTrue(before.succeeded().contains("no global step yet"), before.out());

      Graph graph = StandardOps.newGraph();
      Scope onPs = Scope.of(graph).withDevice("/job:ps/task:0");
      VariableScope.of(onPs).startingWith("global_step", Tensor.scalar(812L));
      try (Session s = new ClusterSession(graph, cluster.servers.getFirst().target())) {
        s.run(Variables.initializer(Scope.of(graph)));
      }
      String out = cluster.ran("status", "--interval", "0").succeeded();
      assertTrue(out.lines().anyMatch(l -> l.matches("ps/0 .* up .* 1 .*")), out);
      assertTrue(out.lines().anyMatch(l -> l.matches("worker/0 .* up .* 1 .*")), out);
      assertTrue(out.contains("global step 812"), out);
      String json = cluster.ran("status", "--interval", "0", "--json").succeeded();
      assertTrue(json.contains("\"globalStep\": 812"), json);
    }
  }

  @Test
  void aTaskThatDoesNotAnswerIsNamed() {
    try (RunningCluster cluster = new RunningCluster().start("ps")) {
      Ran r = cluster.ran("status", "--timeout", "2");
      assertEquals(1, r.code());
      assertTrue(r.out().lines().anyMatch(l -> l.matches("worker/0 .*no answer.*")), r.out());
      assertTrue(r.out().contains("worker/0: "), r.out());
    }
  }
}
