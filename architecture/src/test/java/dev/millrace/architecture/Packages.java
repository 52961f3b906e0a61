package dev.millrace.architecture;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The packages of the project and which of them use which. */
final class Packages {
  private static final String ROOT = "dev.millrace.";

  /** One class that uses another, for each pair of packages. */
  private final Map<String, Map<String, String>> uses = new TreeMap<>();

  private Packages(JavaClasses classes) {
    for (JavaClass c : classes) {
      String from = name(c);
      uses.computeIfAbsent(from, f -> new TreeMap<>());
      for (Dependency d : c.getDirectDependenciesFromSelf()) {
        JavaClass target = d.getTargetClass().getBaseComponentType();
        if (!target.getPackageName().startsWith(ROOT)) {
          continue;
        }
        String to = name(target);
        if (!to.equals(from)) {
          String example = c.getSimpleName() + "->" + target.getSimpleName();
          uses.get(from).merge(to, example, (a, b) -> a.compareTo(b) <= 0 ? a : b);
        }
      }
    }
  }

  static Packages of(JavaClasses classes) {
    return new Packages(classes);
  }

  /** The package of a class without the prefix common to all. */
  static String name(JavaClass c) {
    return c.getPackageName().substring(ROOT.length());
  }

  /** The module of a package: its first word. */
  static String module(String packageName) {
    int dot = packageName.indexOf('.');
    return dot < 0 ? packageName : packageName.substring(0, dot);
  }

  /** Every use of a module that {@link Layers} does not allow. */
  Collection<String> forbiddenUses(Layers layers) {
    Set<String> found = new TreeSet<>();
    uses.forEach(
        (from, targets) ->
            targets.forEach(
                (to, example) -> {
                  if (!layers.allows(module(from), module(to))) {
                    found.add(from + "->" + to + " (" + example + ")");
                  }
                }));
    return found;
  }

  /** Every group of packages that use each other, directly or through others. */
  Collection<String> cycles() {
    Set<String> found = new TreeSet<>();
    for (Set<String> group : new Components(uses).groups()) {
      if (group.size() > 1) {
        Set<String> edges = new TreeSet<>();
        for (String from : group) {
          uses.get(from)
              .forEach(
                  (to, example) -> {
                    if (group.contains(to)) {
                      edges.add("%n    %s -> %s (%s)".formatted(from, to, example));
                    }
                  });
        }
        found.add(String.join("+", group) + String.join("", edges));
      }
    }
    return found;
  }

  /** The strongly connected components of a graph, by Tarjan's algorithm. */
  private static final class Components {
    private final Map<String, Map<String, String>> edges;
    private final Map<String, Integer> index = new HashMap<>();
    private final Map<String, Integer> low = new HashMap<>();
    private final Deque<String> stack = new ArrayDeque<>();
    private final Set<Set<String>> groups = new HashSet<>();

    Components(Map<String, Map<String, String>> edges) {
      this.edges = edges;
      edges.keySet().forEach(this::visit);
    }

    Set<Set<String>> groups() {
      return groups;
    }

    private void visit(String node) {
      if (index.containsKey(node)) {
        return;
      }
      index.put(node, index.size());
      low.put(node, index.get(node));
      stack.push(node);
      for (String next : edges.getOrDefault(node, Map.of()).keySet()) {
        visit(next);
        if (stack.contains(next)) {
          low.merge(node, low.get(next), Math::min);
        }
      }
      if (low.get(node).equals(index.get(node))) {
        Set<String> group = new TreeSet<>();
        String member;
        do {
          member = stack.pop();
          group.add(member);
        } while (!member.equals(node));
        groups.add(group);
      }
    }
  }
}
