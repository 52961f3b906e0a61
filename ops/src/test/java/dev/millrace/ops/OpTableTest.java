package dev.millrace.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Op;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * Compares the registry with the table of all ops, so that none disappears or appears unnoticed.
 */
class OpTableTest {
  @Test
  void theTableListsExactlyTheRegisteredOps() throws IOException {
    Set<String> listed = new TreeSet<>();
    table().values().forEach(listed::addAll);
    Set<String> registered = StandardOps.ALL.stream().map(Op::name).collect(Collectors.toSet());
    Set<String> missing = new TreeSet<>(listed);
    missing.removeAll(registered);
    assertEquals(Set.of(), missing, "listed in op-table.txt but not registered");
    Set<String> unlisted = new TreeSet<>(registered);
    unlisted.removeAll(listed);
    assertEquals(Set.of(), unlisted, "registered but not listed in op-table.txt");
  }

  @Test
  void everyOpIsListedOnce() throws IOException {
    Map<String, String> categoryOf = new TreeMap<>();
    table()
        .forEach(
            (category, ops) ->
                ops.forEach(
                    op -> assertNull(categoryOf.put(op, category), op + " has two categories")));
  }

  /** Every op can be found by its name, also those whose family loads on demand. */
  @Test
  void everyListedOpIsFoundByName() throws IOException {
    table()
        .values()
        .forEach(ops -> ops.forEach(op -> assertEquals(op, registered(op), "found for " + op)));
  }

  private static String registered(String op) {
    return StandardOps.registry().get(op, "a node").name();
  }

  /** Reads the ops by category: a line that ends in a colon starts one, indented lines list ops. */
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
          for (String op : line.strip().split(" ")) {
            assertTrue(table.get(category).add(op), op + " stands twice in " + category);
          }
        }
      }
    }
    return table;
  }
}
