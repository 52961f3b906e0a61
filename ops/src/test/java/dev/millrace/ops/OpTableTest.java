package dev.millrace.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.op.Op;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The ops a training graph may be made of are all there. */
class OpTableTest {
  @Test
  void everyOpOfTheTableIsRegistered() throws IOException {
    Set<String> registered = StandardOps.ALL.stream().map(Op::name).collect(Collectors.toSet());
    Map<String, Set<String>> missing = new TreeMap<>(table());
    missing.values().forEach(ops -> ops.removeAll(registered));
    missing.values().removeIf(Set::isEmpty);
    assertEquals(Map.of(), missing);
  }

  @Test
  void theTableIsWhole() throws IOException {
    Map<String, Set<String>> table = table();
    assertEquals(15, table.size());
    table.forEach((category, ops) -> assertTrue(ops.size() >= 7, category + ": " + ops));
  }

  /** The ops by category: a line that ends in a colon opens one, indented lines hold its ops. */
  private static Map<String, Set<String>> table() throws IOException {
    Map<String, Set<String>> table = new TreeMap<>();
    String category = "";
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(
                OpTableTest.class.getResourceAsStream("op-table.txt"), StandardCharsets.UTF_8))) {
      for (String line : lines.lines().toList()) {
        if (line.endsWith(":")) {
          category = line.substring(0, line.length() - 1);
          table.put(category, new TreeSet<>());
        } else if (line.startsWith(" ")) {
          table.get(category).addAll(List.of(line.strip().split(" ")));
        }
      }
    }
    return table;
  }
}
