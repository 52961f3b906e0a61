package dev.millrace.cli.files;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.storage.checkpoint.CheckpointStateFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A checkpoint as files.
 *
 * @param prefix the path of its files up to {@code .index} or {@code .data}
 * @param step the global step in its name, or -1
 * @param tensors how many it has; -1 if its index cannot be read
 * @param bytes the size of its files
 * @param latest whether the folder's state file names it as the latest
 */
record SavedCheckpoint(
    Path prefix, long step, int tensors, long bytes, FileTime time, boolean latest) {
  private static final String INDEX = ".index";
  private static final Pattern STEP = Pattern.compile(".*-(\\d{1,18})");

  /** The prefix a user means by {@code place}: itself, an index file, or a folder's latest. */
  static Path find(Path place) {
    if (Files.isDirectory(place)) {
      return CheckpointStateFile.latest(place)
          .or(() -> in(place).stream().map(SavedCheckpoint::prefix).reduce((a, b) -> b))
          .orElseThrow(() -> none(place));
    }
    String name = place.getFileName().toString();
    return name.endsWith(INDEX)
        ? place.resolveSibling(name.substring(0, name.length() - INDEX.length()))
        : place;
  }

  /** The prefixes of what a user means by {@code place}: one checkpoint, or all of a folder. */
  static List<Path> allAt(Path place) {
    return Files.isDirectory(place)
        ? in(place).stream().map(SavedCheckpoint::prefix).toList()
        : List.of(find(place));
  }

  /** All checkpoints in {@code folder}, oldest first. NOT_FOUND if there is none. */
  static List<SavedCheckpoint> in(Path folder) {
    Path latest = CheckpointStateFile.latest(folder).orElse(null);
    List<SavedCheckpoint> all = new ArrayList<>();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path f : files.filter(f -> f.toString().endsWith(INDEX)).toList()) {
        all.add(of(find(f), latest));
      }
    } catch (IOException | UncheckedIOException e) {
      throw new MillraceException(
          Code.NOT_FOUND, "Cannot list the folder " + folder + ": it is missing or unreadable.", e);
    }
    if (all.isEmpty()) {
      throw none(folder);
    }
    all.sort(Comparator.comparing(SavedCheckpoint::time).thenComparingLong(SavedCheckpoint::step));
    return all;
  }

  private static MillraceException none(Path folder) {
    return new MillraceException(
        Code.NOT_FOUND, "There is no checkpoint in " + folder + ": no file in it ends in .index.");
  }

  private static SavedCheckpoint of(Path prefix, Path latest) throws IOException {
    String name = prefix.getFileName().toString();
    Matcher step = STEP.matcher(name);
    long bytes = 0;
    FileTime time = FileTime.fromMillis(0);
    try (Stream<Path> files = Files.list(prefix.toAbsolutePath().getParent())) {
      for (Path f : files.toList()) {
        String n = f.getFileName().toString();
        if (n.equals(name + INDEX) || n.startsWith(name + ".data-")) {
          bytes += Files.size(f);
          FileTime changed = Files.getLastModifiedTime(f);
          time = changed.compareTo(time) > 0 ? changed : time;
        }
      }
    }
    return new SavedCheckpoint(
        prefix,
        step.matches() ? Long.parseLong(step.group(1)) : -1,
        tensors(prefix),
        bytes,
        time,
        latest != null && latest.toAbsolutePath().equals(prefix.toAbsolutePath()));
  }

  private static int tensors(Path prefix) {
    try (BundleReader r = new BundleReader(prefix)) {
      return r.names().size();
    } catch (MillraceException e) {
      return -1;
    }
  }

  /** When it was saved, in the time of this machine. */
  String saved() {
    return DateTimeFormatter.ISO_LOCAL_DATE_TIME
        .format(time.toInstant().truncatedTo(ChronoUnit.SECONDS).atZone(ZoneId.systemDefault()))
        .replace('T', ' ');
  }

  Map<String, Object> facts() {
    Map<String, Object> f = new LinkedHashMap<>();
    f.put("checkpoint", prefix.toString());
    f.put("step", step < 0 ? null : step);
    f.put("tensors", tensors < 0 ? null : tensors);
    f.put("bytes", bytes);
    f.put("saved", time.toInstant().truncatedTo(ChronoUnit.SECONDS).toString());
    f.put("latest", latest);
    return f;
  }
}
