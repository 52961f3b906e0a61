package dev.millrace.train.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Timers;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.HeldPorts;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.ops.StandardOps;
import dev.millrace.runtime.Session;
import dev.millrace.train.hook.SessionRunHook;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class StepWatchTest {
  private static final SessionRunHook WAITING =
      new SessionRunHook() {
        @Override
        public String waitsFor() {
          return "the gradients of 2 of 2 workers";
        }
      };

  /** A step that waits while one worker is gone: the watch names it, and only it. */
  @Test
  void taskThatIsGoneIsNamedWhileAStepWaits() {
    try (HeldPorts ports = HeldPorts.take(3)) {
      ClusterSpec spec =
          ClusterSpec.of(
              Map.of(
                  "ps", ports.addresses().subList(0, 1),
                  "worker", ports.addresses().subList(1, 3)));
      Server other = Server.start(spec, new TaskId("worker", 1), StandardOps.registry());
      try (Server _ = Server.start(spec, new TaskId("ps", 0), StandardOps.registry());
          Server chief = Server.start(spec, new TaskId("worker", 0), StandardOps.registry());
          Session session = new ClusterSession(new Graph(StandardOps.registry()), chief.target());
          StepWatch watch =
              new StepWatch(List.of(WAITING), Duration.ofMinutes(10), Timers.system())) {
        Duration limit = Duration.ofSeconds(20);
        assertEquals(Map.of(), session.silentTasks(List.of(), limit));
        watch.watch(
            new StepWatch.Subject() {
              @Override
              public Map<String, String> silentTasks(Duration limit) {
                return session.silentTasks(List.of(), limit);
              }

              @Override
              public void check() {}
            });
        other.close();
        long begun = System.nanoTime();
        watch.begin();
        while (!watch.state().contains("worker/1 does not answer")) {
          assertTrue(System.nanoTime() - begun < Duration.ofSeconds(30).toNanos(), watch.state());
          LockSupport.parkNanos(20_000_000L);
        }
        assertTrue(watch.state().startsWith("It waits for the gradients of 2 of 2 workers. "));
        assertTrue(watch.state().contains("refused"), watch.state());
        assertFalse(watch.state().contains("ps/0"), watch.state());
        assertEquals(Map.of(), session.silentTasks(List.of("ps/0", "none/7"), limit));
      } finally {
        other.close();
      }
    }
  }
}
