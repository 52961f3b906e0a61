package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Unary;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A device brings its own memory and kernels; host kernels never see that memory. */
class DeviceKindTest {
  private static final SessionOptions WITH_TEST =
      SessionOptions.DEFAULT.withDevice(new HeapDevice());

  private final Graph graph = StandardOps.newGraph();
  private final Scope cpu = Scope.of(graph).withDevice("/device:CPU:0");
  private final Scope test = Scope.of(graph).withDevice("/device:TEST:0");
  private final Output x = Placeholder.of(cpu.withName("x"), DType.FLOAT, Shape.of(2));

  private float[] run(Session s, Output fetched) {
    try (Tensor in = Tensor.vector(1f, 2f);
        Tensor out = s.run(Map.of(x, in), List.of(fetched), List.of()).getFirst()) {
      return out.toFloats();
    }
  }

  @Test
  void aGraphRunsHalfOnTheCpuAndHalfOnTheDevice() {
    Output sum = Arithmetic.add(cpu, x, x);
    Output squared = Unary.square(test, Unary.square(test, sum));
    Output result = Arithmetic.add(cpu, squared, x);
    int live = HeapDevice.LIVE.get();
    int allocated = HeapDevice.ALLOCATED.get();
    int squares = HeapDevice.SQUARES.get();
    try (Session s = new LocalSession(graph, WITH_TEST)) {
      for (int i = 0; i < 3; i++) {
        assertArrayEquals(new float[] {17, 258}, run(s, result));
      }
    }
    assertEquals(squares + 6, HeapDevice.SQUARES.get());
    // Per step: what arrives and both results.
    assertEquals(allocated + 9, HeapDevice.ALLOCATED.get());
    assertEquals(live, HeapDevice.LIVE.get());
  }

  @Test
  void constantsAndFetchesAreCopied() {
    Output three = Identity.of(test, Const.of(test, Tensor.vector(3f, 4f)));
    Output late = Const.of(test.withControlInputs(three.node()), Tensor.vector(5f, 6f));
    try (Session s = new LocalSession(graph, WITH_TEST.withSimplify(false))) {
      assertArrayEquals(new float[] {9, 16}, run(s, Unary.square(test, three)));
      assertArrayEquals(new float[] {25, 36}, run(s, Unary.square(test, late)));
    }
  }

  @Test
  void opWithoutAKernelIsRefusedOrGoesToTheCpu() {
    Output sum = Arithmetic.add(test, x, x);
    try (Session s = new LocalSession(graph, WITH_TEST)) {
      var e = assertThrows(MillraceException.class, () -> run(s, sum));
      assertTrue(e.getMessage().contains("no supported kernel for TEST devices"), e.getMessage());
    }
    try (Session s = new LocalSession(graph, WITH_TEST.withSoftPlacement(true))) {
      assertArrayEquals(new float[] {2, 4}, run(s, sum));
    }
  }

  @Test
  void nodesGoThereOnlyOnRequest() {
    Output squared = Unary.square(Scope.of(graph).withName("free"), x);
    ByteArrayOutputStream log = new ByteArrayOutputStream();
    SessionOptions logged =
        WITH_TEST.withPlacementLog(new PrintStream(log, true, StandardCharsets.UTF_8));
    try (Session s = new LocalSession(graph, logged)) {
      assertArrayEquals(new float[] {1, 4}, run(s, squared));
    }
    String said = log.toString(StandardCharsets.UTF_8);
    assertTrue(said.contains("free: (Square): /job:localhost/replica:0/task:0/device:CPU:0"), said);
  }

  @Test
  void aServerHasTheDevicesItsConfigurationCounts() {
    ClusterSpec spec = ClusterSpec.of(Map.of("worker", List.of("localhost:0")));
    ConfigProto config = ConfigProto.newBuilder().putDeviceCount("TEST", 2).build();
    try (Server server =
        Server.start(spec, new TaskId("worker", 0), StandardOps.registry(), config)) {
      assertEquals(
          List.of("CPU", "TEST", "TEST"),
          server.worker().devices().stream().map(d -> d.spec().type()).toList());
      Output squared =
          Unary.square(Scope.of(graph).withDevice("/device:TEST:1"), Arithmetic.add(cpu, x, x));
      int squares = HeapDevice.SQUARES.get();
      try (Session s = server.session(graph)) {
        assertArrayEquals(new float[] {4, 16}, run(s, squared));
      }
      assertEquals(squares + 1, HeapDevice.SQUARES.get());
    }
  }
}
