package dev.millrace.architecture;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Rules on packages as folders: how many files one has, and that no two files share a name. */
final class Sizes {
  private static final int MOST_FILES = 25;

  private Sizes() {}

  /** Packages of more than 25 files. An op family has one file per op, as many as there are. */
  static Collection<String> largePackages(JavaClasses classes) {
    Map<String, Integer> files = new TreeMap<>();
    for (JavaClass c : classes) {
      if (c.isTopLevelClass() && !Packages.name(c).startsWith("ops.")) {
        files.merge(Packages.name(c), 1, Integer::sum);
      }
    }
    Set<String> found = new TreeSet<>();
    files.forEach(
        (name, n) -> {
          if (n > MOST_FILES) {
            found.add(name + " (" + n + " files)");
          }
        });
    return found;
  }

  /** Top-level classes of the same simple name. */
  static Collection<String> duplicateNames(JavaClasses classes) {
    Map<String, Set<String>> packages = new TreeMap<>();
    for (JavaClass c : classes) {
      if (c.isTopLevelClass() && !c.getSimpleName().equals("package-info")) {
        packages.computeIfAbsent(c.getSimpleName(), n -> new TreeSet<>()).add(Packages.name(c));
      }
    }
    Set<String> found = new TreeSet<>();
    packages.forEach(
        (name, in) -> {
          if (in.size() > 1) {
            found.add(name + " (" + String.join(", ", in) + ")");
          }
        });
    return found;
  }
}
