package dev.millrace.architecture;

import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaModifier;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * State that belongs to a context and not to the process: static fields that change or whose type
 * says that what they hold does, and settings, clocks and machines that are not a context's.
 */
final class StaticState {
  /** Programs are processes, and a simulation is the machine of its own tests. */
  private static final Set<String> PROGRAMS =
      Set.of("cli", "examples", "job", "interop", "simulation");

  /** Types of the JDK whose only purpose is to change: of packages, by the start of their names. */
  private static final Set<String> CHANGING =
      Set.of(
          "java.util.concurrent.atomic.Atomic",
          "java.util.concurrent.Concurrent",
          "java.util.concurrent.Semaphore",
          "java.lang.Thread",
          "java.lang.ref.Cleaner");

  /** What a context has one of. */
  private static final Set<String> OF_THE_PROCESS =
      Set.of(
          "dev.millrace.base.config.Config.ofProcess",
          "dev.millrace.base.Platform.system",
          "dev.millrace.base.Timers.system");

  private StaticState() {}

  /** Top-level classes with such state, and what it is. */
  static Collection<String> find(JavaClasses classes) {
    Map<String, Set<String>> found = new TreeMap<>();
    for (JavaClass c : classes) {
      String module = Packages.module(Packages.name(c));
      if (PROGRAMS.contains(module)) {
        continue;
      }
      for (JavaField f : c.getFields()) {
        if (f.getModifiers().contains(JavaModifier.STATIC)
            && !f.getModifiers().contains(JavaModifier.SYNTHETIC)
            && !f.getName().startsWith("$")
            && changes(f)) {
          add(found, c, f.getName());
        }
      }
      if (!module.equals("base")) {
        for (JavaAccess<?> a : c.getAccessesFromSelf()) {
          String called = a.getTarget().getOwner().getName() + "." + a.getTarget().getName();
          if (OF_THE_PROCESS.contains(called)) {
            add(found, c, a.getTarget().getOwner().getSimpleName() + "." + a.getTarget().getName());
          }
        }
      }
    }
    Set<String> lines = new TreeSet<>();
    found.forEach((name, what) -> lines.add(name + " (" + String.join(", ", what) + ")"));
    return lines;
  }

  private static boolean changes(JavaField f) {
    String type = f.getRawType().getName();
    return !f.getModifiers().contains(JavaModifier.FINAL)
        || type.endsWith("Executor")
        || type.endsWith("ExecutorService")
        || CHANGING.stream().anyMatch(type::startsWith);
  }

  private static void add(Map<String, Set<String>> found, JavaClass c, String what) {
    JavaClass top = c;
    while (top.getEnclosingClass().isPresent()) {
      top = top.getEnclosingClass().get();
    }
    found
        .computeIfAbsent(Packages.name(c) + "." + top.getSimpleName(), _ -> new TreeSet<>())
        .add(what);
  }
}
