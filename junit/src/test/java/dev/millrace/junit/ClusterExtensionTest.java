package dev.millrace.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import dev.millrace.base.MillraceException;
import dev.millrace.cluster.InProcessCluster;
import dev.millrace.graph.OpRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

/** Runs classes of tests as JUnit does, and looks at what they saw. */
class ClusterExtensionTest {
  private static final List<InProcessCluster> SEEN = new ArrayList<>();

  private static Events run(Class<?> tests) {
    SEEN.clear();
    return EngineTestKit.engine("junit-jupiter")
        .selectors(selectClass(tests))
        .execute()
        .testEvents();
  }

  private static boolean listens(InProcessCluster cluster) {
    String address = cluster.spec().address(cluster.spec().tasks().iterator().next());
    int colon = address.lastIndexOf(':');
    try (Socket socket = new Socket()) {
      socket.connect(
          new InetSocketAddress(
              address.substring(0, colon), Integer.parseInt(address.substring(colon + 1))),
          1000);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  static class OneForTheClass {
    @RegisterExtension static final ClusterExtension CLUSTER = ClusterExtension.of(Map.of("ps", 1));

    @BeforeAll
    static void early(InProcessCluster cluster) {
      SEEN.add(cluster);
    }

    @Test
    void a() {
      SEEN.add(CLUSTER.cluster());
    }

    @Test
    void b(InProcessCluster cluster) {
      SEEN.add(cluster);
      assertTrue(listens(cluster));
    }
  }

  @Test
  void aStaticFieldHasOneClusterForTheClass() {
    run(OneForTheClass.class).assertStatistics(s -> s.succeeded(2).failed(0));
    assertEquals(3, SEEN.size());
    assertEquals(1, SEEN.stream().distinct().count());
    assertEquals(false, listens(SEEN.getFirst()), "still listens after the class");
  }

  static class OneForEachTest {
    @RegisterExtension
    final ClusterExtension cluster = ClusterExtension.of(Map.of("chief", 1, "ps", 2));

    @Test
    void a() {
      SEEN.add(cluster.cluster());
    }

    @Test
    void b() {
      SEEN.add(cluster.cluster());
      assertEquals(3, cluster.cluster().servers().size());
      throw new IllegalStateException("fails");
    }
  }

  @Test
  void aFieldHasOneClusterForEachTestAndStopsItAlsoAfterAFailure() {
    run(OneForEachTest.class).assertStatistics(s -> s.succeeded(1).failed(1));
    assertEquals(2, SEEN.stream().distinct().count());
    SEEN.forEach(c -> assertEquals(false, listens(c)));
  }

  static class Wrong {
    @Test
    @TestCluster(ps = 0, workers = 0)
    void none(InProcessCluster cluster) {
      SEEN.add(cluster);
    }

    @Test
    @TestCluster(ps = -1)
    void negative(InProcessCluster cluster) {
      SEEN.add(cluster);
    }
  }

  @Test
  void aClusterWithoutTasksIsRefused() {
    List<String> messages =
        run(Wrong.class).failed().stream()
            .map(e -> e.getPayload().orElseThrow().toString())
            .sorted()
            .toList();
    assertEquals(2, messages.size());
    assertTrue(messages.stream().anyMatch(m -> m.contains("none")), messages::toString);
    assertTrue(
        messages.stream().anyMatch(m -> m.contains("cannot have -1 tasks of job 'ps'")),
        messages::toString);
    assertTrue(SEEN.isEmpty());
  }

  @Test
  void thereIsNoClusterBeforeATest() {
    ClusterExtension extension =
        ClusterExtension.of(Map.of("ps", 1)).withOps(OpRegistry.of(List.of()));
    MillraceException e = assertThrows(MillraceException.class, extension::cluster);
    assertTrue(e.getMessage().contains("static"), e.getMessage());
  }
}
