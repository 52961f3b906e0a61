package dev.millrace.architecture;

import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;

/** Rules on what may be called where. */
final class Calls {
  /** Methods that read the time of the machine or wait for it to pass. */
  private static final Set<String> WALL_CLOCK =
      Set.of(
          "java.lang.System.nanoTime",
          "java.lang.System.currentTimeMillis",
          "java.lang.Thread.sleep",
          "java.time.Instant.now",
          "java.time.LocalDate.now",
          "java.time.LocalDateTime.now",
          "java.time.ZonedDateTime.now",
          "java.time.OffsetDateTime.now",
          "java.time.Clock.systemUTC",
          "java.time.Clock.systemDefaultZone",
          "java.util.concurrent.TimeUnit.sleep",
          "java.util.concurrent.locks.LockSupport.parkNanos",
          "java.util.concurrent.locks.LockSupport.parkUntil",
          "java.util.concurrent.locks.Condition.awaitNanos",
          "java.util.concurrent.locks.Condition.awaitUntil",
          "java.util.concurrent.CompletableFuture.orTimeout",
          "java.util.concurrent.CompletableFuture.completeOnTimeout",
          "java.util.concurrent.CompletableFuture.delayedExecutor",
          "java.util.concurrent.Executors.newScheduledThreadPool",
          "java.util.concurrent.Executors.newSingleThreadScheduledExecutor");

  /** Methods that read or change settings of the process. */
  private static final Set<String> SETTINGS =
      Set.of(
          "java.lang.System.getProperty",
          "java.lang.System.getProperties",
          "java.lang.System.setProperty",
          "java.lang.System.clearProperty",
          "java.lang.System.getenv",
          "java.lang.Boolean.getBoolean",
          "java.lang.Integer.getInteger",
          "java.lang.Long.getLong");

  /** The streams of the process, and logging systems other than SLF4J. */
  private static final Set<String> OUTPUT =
      Set.of(
          "java.lang.System.out",
          "java.lang.System.err",
          "java.lang.System.getLogger",
          "java.util.logging.Logger.getLogger",
          "java.util.logging.Logger.log");

  private Calls() {}

  /** Classes outside {@code base} that call the machine's clock; interop measures with it. */
  static Collection<String> wallClock(JavaClasses classes) {
    return callers(classes, Set.of("base", "interop"), Calls::usesTheClock);
  }

  /**
   * Besides the methods listed, every method of the JDK that takes a time limit. Constructors are
   * not meant: the keep-alive time of a thread pool is no wait of ours.
   */
  private static boolean usesTheClock(AccessTarget target) {
    String owner = target.getOwner().getName();
    if (WALL_CLOCK.contains(name(target))) {
      return true;
    }
    if (!(target instanceof AccessTarget.MethodCallTarget unit)
        || !owner.startsWith("java.")
        || owner.equals("java.util.concurrent.TimeUnit")) {
      return false;
    }
    List<String> parameters = unit.getRawParameterTypes().stream().map(JavaClass::getName).toList();
    return parameters.contains("java.util.concurrent.TimeUnit")
        || parameters.size() > 0
            && Set.of("java.lang.Object.wait", "java.lang.Thread.join").contains(name(target));
  }

  private static String name(AccessTarget target) {
    return target.getOwner().getName() + "." + target.getName();
  }

  /** Classes that read system properties or environment variables. */
  static Collection<String> settings(JavaClasses classes) {
    return callers(classes, Set.of(), t -> SETTINGS.contains(name(t)));
  }

  /** Classes of libraries that print, or log otherwise than by SLF4J. */
  static Collection<String> output(JavaClasses classes) {
    return callers(
        classes, Set.of("cli", "examples", "interop", "job"), t -> OUTPUT.contains(name(t)));
  }

  private static Collection<String> callers(
      JavaClasses classes, Set<String> modules, Predicate<AccessTarget> forbidden) {
    Map<String, Set<String>> found = new TreeMap<>();
    for (JavaClass c : classes) {
      String in = Packages.name(c);
      if (modules.contains(Packages.module(in))) {
        continue;
      }
      for (JavaAccess<?> access : c.getAccessesFromSelf()) {
        AccessTarget target = access.getTarget();
        if (forbidden.test(target)) {
          found
              .computeIfAbsent(in + "." + topLevel(c).getSimpleName(), n -> new TreeSet<>())
              .add(target.getOwner().getSimpleName() + "." + target.getName());
        }
      }
    }
    Set<String> lines = new TreeSet<>();
    found.forEach((name, calls) -> lines.add(name + " (" + String.join(", ", calls) + ")"));
    return lines;
  }

  private static JavaClass topLevel(JavaClass c) {
    JavaClass top = c;
    while (top.getEnclosingClass().isPresent()) {
      top = top.getEnclosingClass().get();
    }
    return top;
  }
}
