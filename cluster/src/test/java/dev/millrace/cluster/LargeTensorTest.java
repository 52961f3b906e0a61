package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A large tensor that goes between processes and back, through shared memory and by TCP, and what
 * that takes of the machine's memory. With {@code -Dmillrace.test.large=true} it has more than 2
 * GiB, and 12 GiB must be free.
 */
class LargeTensorTest {
  private static final long BYTES =
      Boolean.getBoolean("millrace.test.large") ? (1L << 31) + 1000 : 96 << 20;

  private static final Shape SHAPE = Shape.of(BYTES / Float.BYTES);

  /** What the processes take beside tensors, and more of it with time. */
  private static final long OTHER_BYTES = 64 << 20;

  private final ClusterSpec cluster =
      ClusterSpec.ofHosts(
          Map.of("ps", FreePorts.addresses(1).get(0), "worker", FreePorts.addresses(1).get(0)));
  private final Graph graph = StandardOps.newGraph();
  private final Scope onPs = Scope.of(graph).withDevice("/job:ps/task:0");
  private final Scope onWorker = Scope.of(graph).withDevice("/job:worker/task:0");
  private final Output variable = VariableV2.of(onPs, DType.FLOAT, SHAPE);

  private ServerProcess start(String job, boolean withinHost) throws Exception {
    return ServerProcess.start(
        cluster,
        new TaskId(job, 0),
        "-Dmillrace.link.within.host=" + withinHost,
        "-Xms32m",
        "-Xmn16m");
  }

  private Session session() {
    return new ClusterSession(graph, "grpc://" + cluster.address(new TaskId("worker", 0)));
  }

  /** The last three values of {@code x}, found on the worker. */
  private Output end(Output x) {
    return onWorker
        .node("Slice")
        .input(x)
        .input(Const.of(onWorker, Tensor.vector(SHAPE.elements() - 3)))
        .input(Const.of(onWorker, Tensor.vector(3L)))
        .add()
        .output();
  }

  /** The memory of processes, what they share counted once, and the most it was. */
  private static final class Watch implements AutoCloseable {
    private final long[] pids;
    private final long before;
    private final AtomicLong most = new AtomicLong();
    private final Thread thread = Thread.ofPlatform().daemon().unstarted(this::look);
    private volatile boolean over;

    Watch(long... pids) {
      this.pids = pids;
      before = now();
      thread.start();
    }

    private long now() {
      long sum = 0;
      for (long pid : pids) {
        try {
          sum +=
              Files.readAllLines(Path.of("/proc/" + pid + "/smaps_rollup")).stream()
                  .filter(l -> l.startsWith("Pss:"))
                  .mapToLong(l -> Long.parseLong(l.replaceAll("\\D", "")) << 10)
                  .sum();
        } catch (IOException e) {
          // It has ended, or the system does not tell.
        }
      }
      return sum;
    }

    private void look() {
      while (!over) {
        most.accumulateAndGet(now(), Math::max);
        // Each look holds up the processes, and a tensor is on its way for longer than this.
        LockSupport.parkNanos(2_000_000);
      }
    }

    long mostBytes() {
      return most.get() - before;
    }

    @Override
    public void close() {
      over = true;
    }
  }

  private static void assertFew(Watch watch, double times, String what) {
    double taken = (double) watch.mostBytes() / BYTES;
    System.out.printf("%s: %.2f times the tensor%n", what, taken);
    assertTrue(
        watch.mostBytes() <= times * BYTES + OTHER_BYTES,
        () -> what + " took " + taken + " times the tensor's memory");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void itGoesFromWorkerToPsAndBack(boolean withinHost) throws Exception {
    Output fill = Placeholder.of(onWorker, DType.FLOAT, Shape.of());
    Output made =
        onWorker
            .node("Fill")
            .input(Const.of(onWorker, Tensor.vector(SHAPE.elements())))
            .input(fill)
            .add()
            .output();
    Node push = Assign.of(onPs, variable, made);
    Output end = end(variable);
    try (ServerProcess ps = start("ps", withinHost);
        ServerProcess worker = start("worker", withinHost);
        Session session = session();
        Watch watch = new Watch(ps.pid(), worker.pid())) {
      session.run(Map.of(fill, Tensor.scalar(7f)), push);
      assertFew(watch, 3.5, "to the ps");
      for (int i = 0; i < 2; i++) {
        assertArrayEquals(new float[] {7, 7, 7}, session.fetch(end).toFloats());
      }
      assertFew(watch, 3.5, "and back");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void itGoesFromClientToPsAndBack(boolean withinHost) throws Exception {
    Output x = Placeholder.of(onWorker, DType.FLOAT, SHAPE);
    Node push = Assign.of(onPs, variable, x);
    try (ServerProcess ps = start("ps", withinHost);
        ServerProcess worker = start("worker", withinHost);
        Session session = session();
        Watch watch = new Watch(ps.pid(), worker.pid(), ProcessHandle.current().pid())) {
      try (Tensor fed = Tensor.allocate(DType.FLOAT, SHAPE)) {
        fed.data().fill((byte) 5);
        session.run(Map.of(x, fed), push);
      }
      assertFew(watch, 6.5, "from the client to the ps");
      try (Tensor fetched = session.fetch(variable)) {
        assertEquals(SHAPE, fetched.shape());
        assertEquals((byte) 5, fetched.data().get(ValueLayout.JAVA_BYTE, BYTES - 1));
      }
      assertFew(watch, 6.5, "and back to the client");
    }
  }
}
