package dev.millrace.testkit;

import dev.millrace.base.leak.LeakCheck;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a test class after which the garbage collector finds tensors that nobody can release any
 * more. Each finding names the tests that ran when the tensor was made: where classes run at once,
 * or a thread of the engine lets go of it late, that may be another class than the one that fails.
 */
public final class LeakExtension
    implements BeforeAllCallback, AfterAllCallback, BeforeEachCallback, AfterEachCallback {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final ExtensionContext.Namespace STORE =
      ExtensionContext.Namespace.create(LeakExtension.class);

  private static final Set<String> RUNNING = new ConcurrentSkipListSet<>();

  @Override
  public void beforeAll(ExtensionContext context) {
    context.getStore(STORE).put("taken", LeakCheck.taken());
    starts(context);
    if (measuresHeap(context)) {
      LeakCheck.recordPlaces(false);
    }
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    starts(context);
  }

  @Override
  public void afterEach(ExtensionContext context) {
    ends(context);
  }

  @Override
  public void afterAll(ExtensionContext context) throws InterruptedException {
    ends(context);
    if (measuresHeap(context)) {
      LeakCheck.recordPlaces(true);
    }
    if (Objects.equals(LeakCheck.taken(), context.getStore(STORE).get("taken", Long.class))) {
      return;
    }
    List<AssertionError> findings = LeakCheck.collect(PATIENCE);
    if (!findings.isEmpty()) {
      AssertionError all =
          new AssertionError(
              findings.size() + " findings of the leak check; the first: " + findings.getFirst(),
              findings.getFirst().getCause());
      findings.stream().skip(1).limit(20).forEach(all::addSuppressed);
      throw all;
    }
  }

  private static boolean measuresHeap(ExtensionContext context) {
    return context.getRequiredTestClass().isAnnotationPresent(MeasuresHeap.class);
  }

  private static String name(ExtensionContext context) {
    String type = context.getRequiredTestClass().getSimpleName();
    return context.getTestMethod().map(m -> type + "." + m.getName()).orElse(type);
  }

  private static void starts(ExtensionContext context) {
    RUNNING.add(name(context));
    LeakCheck.running(String.join(", ", RUNNING));
  }

  private static void ends(ExtensionContext context) {
    RUNNING.remove(name(context));
    LeakCheck.running(String.join(", ", RUNNING));
  }
}
