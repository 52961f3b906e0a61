package dev.millrace.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import dev.millrace.base.leak.LeakCheck;
import dev.millrace.base.leak.Watch;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

/** The extension is registered, and a class that leaks fails with the place of the leak. */
class LeakExtensionTest {
  /** A resource as a buffer is one. */
  private static final class Resource {
    final Watch watch = LeakCheck.watch(this);
  }

  private static Resource kept;

  static final class Leaks {
    @Test
    void drops() {
      new Resource().watch.describe(() -> "The resource of the sample");
    }
  }

  static final class Releases {
    @Test
    void releases() {
      new Resource().watch.released();
    }
  }

  static final class Keeps {
    @Test
    void keeps() {
      kept = new Resource();
    }
  }

  @MeasuresHeap
  static final class LeaksUnrecorded {
    @Test
    void drops() {
      new Resource();
    }
  }

  private static List<Throwable> failures(Class<?> type) {
    Events events =
        EngineTestKit.engine("junit-jupiter")
            .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "true")
            .selectors(selectClass(type))
            .execute()
            .allEvents();
    return events
        .failed()
        .map(e -> e.getRequiredPayload(TestExecutionResult.class).getThrowable().orElseThrow())
        .toList();
  }

  @Test
  void aClassThatDropsAHeldResourceFailsAndSaysWhere() {
    List<Throwable> failures = failures(Leaks.class);
    assertEquals(1, failures.size());
    String message = failures.getFirst().getMessage();
    assertTrue(
        message.contains("The resource of the sample was dropped without being released"), message);
    Throwable place = failures.getFirst().getCause();
    assertTrue(place.getMessage().contains("Leaks.drops"), place::getMessage);
    assertTrue(
        List.of(place.getStackTrace()).stream()
            .anyMatch(
                f -> f.getClassName().equals(Leaks.class.getName()) && f.getLineNumber() > 0));
  }

  @Test
  void aClassThatReleasesOrKeepsItPasses() {
    assertEquals(List.of(), failures(Releases.class));
    assertEquals(List.of(), failures(Keeps.class));
    kept.watch.released();
  }

  @Test
  void aClassThatMeasuresTheHeapFailsWithoutAStack() {
    List<Throwable> failures = failures(LeaksUnrecorded.class);
    assertEquals(1, failures.size());
    Throwable place = failures.getFirst().getCause();
    assertTrue(place.getMessage().contains("LeaksUnrecorded.drops"), place::getMessage);
    assertEquals(0, place.getStackTrace().length);
  }
}
