package dev.millrace.dashboard.web;

import com.google.protobuf.TextFormat;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The graph of a job in short: its nodes by the first part of their names, where they are placed,
 * and how many edges lead from one to the other. Read from {@code graph.pbtxt} in the job's folder.
 *
 * <p>Threading: any thread.
 */
final class GraphPicture {
  private static final String FILE = "graph.pbtxt";

  /** A larger file is not read: it would take long and show little. */
  private static final long MOST_BYTES = 64 << 20;

  private Path read;
  private long modified;
  private Map<String, Object> picture = Map.of();

  /** The picture of the graph in {@code folder}; empty if there is none yet. */
  synchronized Map<String, Object> of(Path folder) {
    Path file = folder.resolve(FILE);
    try {
      long now = Files.getLastModifiedTime(file).toMillis();
      if (!file.equals(read) || now != modified) {
        picture =
            Files.size(file) > MOST_BYTES
                ? Map.of("nodes", 0, "groups", List.of(), "edges", List.of())
                : draw(TextFormat.parse(Files.readString(file), GraphDef.class));
        read = file;
        modified = now;
      }
      return picture;
    } catch (IOException e) {
      return Map.of();
    }
  }

  private static Map<String, Object> draw(GraphDef graph) {
    Map<String, Map<String, Integer>> groups = new TreeMap<>();
    Map<String, String> groupOf = new HashMap<>();
    for (NodeDef n : graph.getNodeList()) {
      String group = group(n.getName());
      groupOf.put(n.getName(), group);
      groups
          .computeIfAbsent(group, _ -> new TreeMap<>())
          .merge(device(n.getDevice()), 1, Integer::sum);
    }
    Map<List<String>, Integer> edges = new LinkedHashMap<>();
    for (NodeDef n : graph.getNodeList()) {
      for (String input : n.getInputList()) {
        String source = groupOf.get(input.replaceFirst("^\\^", "").replaceFirst(":\\d+$", ""));
        String target = groupOf.get(n.getName());
        if (source != null && !source.equals(target)) {
          edges.merge(List.of(source, target), 1, Integer::sum);
        }
      }
    }
    List<Object> shownGroups = new ArrayList<>();
    groups.forEach((name, devices) -> shownGroups.add(Map.of("name", name, "devices", devices)));
    List<Object> shownEdges = new ArrayList<>();
    edges.forEach(
        (ends, count) ->
            shownEdges.add(Map.of("from", ends.getFirst(), "to", ends.getLast(), "count", count)));
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("nodes", graph.getNodeCount());
    m.put("groups", shownGroups);
    m.put("edges", shownEdges);
    return m;
  }

  private static String group(String name) {
    int slash = name.indexOf('/');
    return slash < 0 ? name.replaceFirst("_\\d+$", "") : name.substring(0, slash);
  }

  /** {@code ps/0} for a device of that task. */
  private static String device(String device) {
    if (device.isEmpty()) {
      return "anywhere";
    }
    return device
        .replaceFirst("^/job:", "")
        .replaceFirst("/replica:\\d+", "")
        .replace("/task:", "/")
        .replaceFirst("/device:.*$", "");
  }
}
