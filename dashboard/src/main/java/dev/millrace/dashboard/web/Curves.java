package dev.millrace.dashboard.web;

import dev.millrace.base.MillraceException;
import dev.millrace.dashboard.watch.Scalars;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The scalars of a job's folder, and of the runs beside it, from their event files. A folder is
 * read again when one of its files has grown.
 *
 * <p>Threading: any thread.
 */
final class Curves {
  private static final int POINTS = 600;
  private static final int RUNS = 12;

  /** What was read of a folder, and the total size of its event files then. */
  private record Read(long bytes, Map<Scalars.Key, List<Scalars.Point>> series) {}

  private final Map<Path, Read> known = new ConcurrentHashMap<>();

  /** The folders of runs: the job's first, then those beside it, the newest first. */
  List<String> runs(Path folder) {
    List<String> names = new ArrayList<>();
    names.add(folder.getFileName().toString());
    Path parent = folder.getParent();
    if (parent == null) {
      return names;
    }
    try (Stream<Path> beside = Files.list(parent)) {
      beside
          .filter(p -> !p.equals(folder) && bytes(p) > 0)
          .sorted(Comparator.comparingLong(Curves::modified).reversed())
          .limit(RUNS)
          .forEach(p -> names.add(p.getFileName().toString()));
    } catch (IOException e) {
      // The job's own run is there in any case.
    }
    return names;
  }

  /** The series of some runs: by tag, by run, a list of steps and a list of values. */
  Map<String, Object> of(Path folder, List<String> runs) {
    List<String> allowed = runs(folder);
    Map<String, Map<String, Object>> byTag = new java.util.TreeMap<>();
    for (String run : runs) {
      // Only names that were offered: what comes in a request is no path.
      if (!allowed.contains(run)) {
        continue;
      }
      read(folder.resolveSibling(run))
          .forEach(
              (key, points) ->
                  byTag
                      .computeIfAbsent(key.tag(), _ -> new LinkedHashMap<>())
                      .put(key.run().isEmpty() ? run : run + "/" + key.run(), series(points)));
    }
    return new LinkedHashMap<>(byTag);
  }

  private static Map<String, Object> series(List<Scalars.Point> points) {
    int every = Math.max(1, points.size() / POINTS);
    List<Long> steps = new ArrayList<>();
    List<Double> values = new ArrayList<>();
    for (int i = 0; i < points.size(); i++) {
      if (i % every == 0 || i == points.size() - 1) {
        steps.add(points.get(i).step());
        values.add(JobJson.finite(points.get(i).value()));
      }
    }
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("steps", steps);
    m.put("values", values);
    return m;
  }

  private Map<Scalars.Key, List<Scalars.Point>> read(Path folder) {
    long bytes = bytes(folder);
    Read before = known.get(folder);
    if (before != null && before.bytes == bytes) {
      return before.series;
    }
    try {
      Map<Scalars.Key, List<Scalars.Point>> series = Scalars.read(folder).series();
      known.put(folder, new Read(bytes, series));
      return series;
    } catch (MillraceException e) {
      return Map.of();
    }
  }

  private static long modified(Path p) {
    try {
      return Files.getLastModifiedTime(p).toMillis();
    } catch (IOException e) {
      return 0;
    }
  }

  /** How many bytes the event files in a folder have; 0 if it has none. */
  private static long bytes(Path folder) {
    if (!Files.isDirectory(folder)) {
      return 0;
    }
    try (Stream<Path> files = Files.walk(folder, 2)) {
      return files
          .filter(f -> f.getFileName().toString().contains("tfevents"))
          .mapToLong(f -> f.toFile().length())
          .sum();
    } catch (IOException | java.io.UncheckedIOException e) {
      return 0;
    }
  }
}
