package dev.millrace.architecture;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Which modules a module may use, itself and those below it: {@code layers.txt}. */
final class Layers {
  private final Map<String, Set<String>> allowed = new TreeMap<>();

  /** Reads lines such as {@code graph: tensor}; a module may also use what those it uses may. */
  static Layers of(List<String> lines) {
    Layers layers = new Layers();
    for (String line : lines) {
      String[] parts = line.split(":", 2);
      Set<String> below = new TreeSet<>(Set.of(parts[0]));
      for (String used : parts[1].strip().split("\\s+")) {
        if (!used.isEmpty()) {
          Set<String> known = layers.allowed.get(used);
          if (known == null) {
            throw new IllegalArgumentException(
                parts[0] + " uses " + used + ", which must stand above it in layers.txt");
          }
          below.addAll(known);
        }
      }
      layers.allowed.put(parts[0], below);
    }
    return layers;
  }

  boolean allows(String from, String to) {
    return allowed.getOrDefault(from, Set.of()).contains(to);
  }
}
