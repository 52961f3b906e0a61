package dev.millrace.cli.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.context.Context;
import dev.millrace.cli.Ran;
import dev.millrace.cli.RunningCluster;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.TaskFacts;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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

  // README claim: see-status
  @Test
  void millraceTasksTellTheirMemoryStepsAndStaleness() throws InterruptedException {
    Context.current().gauges().show("staleness", () -> 1.25);
    try (RunningCluster cluster = new RunningCluster().start("ps").start("worker")) {
      Graph graph = StandardOps.newGraph();
      Output one = Const.of(Scope.of(graph), 1f);
      AtomicBoolean enough = new AtomicBoolean();
      CountDownLatch steps = new CountDownLatch(1);
      Thread worker =
          Thread.startVirtualThread(
              () -> {
                try (Session s = new ClusterSession(graph, cluster.servers.get(1).target())) {
                  while (!enough.get()) {
                    s.fetch(one).close();
                    steps.countDown();
                  }
                }
              });
      try {
        assertTrue(steps.await(60, TimeUnit.SECONDS), "no step was made");
        String json = cluster.ran("status", "--interval", "1", "--json").succeeded();
        String ofWorker = json.substring(json.indexOf("worker/0"));
        // A busy machine may have made none in that second.
        for (int i = 0; i < 10 && figure(ofWorker, "stepsPerSecond") == 0; i++) {
          json = cluster.ran("status", "--interval", "1", "--json").succeeded();
          ofWorker = json.substring(json.indexOf("worker/0"));
        }
        assertTrue(figure(ofWorker, "stepsPerSecond") > 0, json);
        assertTrue(figure(ofWorker, "residentBytes") > 1 << 20, json);
        assertEquals(1, figure(ofWorker, "sessions"), json);
        assertEquals(1.25, figure(ofWorker, "staleness"), json);
        String table = cluster.ran("status", "--interval", "1").succeeded();
        assertTrue(table.lines().anyMatch(l -> l.matches("worker/0 .*MiB .* 1\\.25 .*")), table);
      } finally {
        enough.set(true);
        worker.join();
      }
    }
  }

  private static double figure(String json, String name) {
    Matcher m = Pattern.compile("\"" + name + "\": ([-0-9.eE]+)").matcher(json);
    assertTrue(m.find(), json);
    return Double.parseDouble(m.group(1));
  }

  // README claim: see-status
  @Test
  void theSlowestOfUnevenWorkersIsFound() {
    TaskPace ps = pace("ps", 0, 500);
    TaskPace slow = pace("worker", 1, 40);
    assertSame(slow, TaskPace.slowest(List.of(ps, pace("worker", 0, 60), slow)));
    assertNull(TaskPace.slowest(List.of(ps, pace("worker", 0, 60), pace("worker", 1, 59))));
    assertNull(TaskPace.slowest(List.of(ps, pace("worker", 0, 60))));
    assertNull(TaskPace.slowest(List.of(pace("worker", 0, 0), pace("worker", 1, 0))));
  }

  /** A task that made this many steps in a second. */
  private static TaskPace pace(String job, int index, long steps) {
    return TaskPace.between(
            List.of(answer(job, index, TaskFacts.newBuilder().setSessions(1))),
            List.of(
                answer(
                    job,
                    index,
                    TaskFacts.newBuilder()
                        .setSessions(1)
                        .setSteps(steps)
                        .setClockMicros(1_000_000))))
        .getFirst();
  }

  private static ClusterView.Answer answer(String job, int index, TaskFacts.Builder facts) {
    return new ClusterView.Answer(
        new TaskId(job, index), "localhost:1", 1, List.of(), facts.build(), 0, null);
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
