package dev.millrace.dashboard.watch;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.Event;
import dev.millrace.proto.Summary;
import dev.millrace.storage.record.EventReader;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The numbers in event files: for each run, which is a folder of event files, and each tag a series
 * of points.
 */
public final class Scalars {
  /** A number with the step and the time (seconds since 1970) it belongs to. */
  public record Point(long step, double time, double value) {}

  /** What identifies a series. */
  public record Key(String run, String tag) implements Comparable<Key> {
    @Override
    public int compareTo(Key k) {
      return tag.equals(k.tag) ? run.compareTo(k.run) : tag.compareTo(k.tag);
    }

    @Override
    public String toString() {
      return run.isEmpty() ? tag : tag + " (" + run + ")";
    }
  }

  private final Map<Key, List<Point>> series = new TreeMap<>();

  private Scalars() {}

  /** All series of an event file, or of those in a folder and the folders in it. */
  public static Scalars read(Path place) {
    List<Path> files;
    try (Stream<Path> found = Files.walk(place)) {
      files =
          found
              .filter(f -> Files.isRegularFile(f) && (f.equals(place) || isEventFile(f)))
              .sorted()
              .toList();
    } catch (IOException e) {
      throw new MillraceException(Code.NOT_FOUND, "There is no file or folder " + place + ".", e);
    }
    if (files.isEmpty()) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "There are no events in " + place + ": no file's name has 'tfevents' in it.");
    }
    Scalars all = new Scalars();
    for (Path f : files) {
      Path run = f.equals(place) ? Path.of("") : place.relativize(f.getParent());
      all.addFile(f, run.toString());
    }
    all.series.values().forEach(points -> points.sort((a, b) -> Long.compare(a.step, b.step)));
    return all;
  }

  private static boolean isEventFile(Path f) {
    return f.getFileName().toString().contains("tfevents");
  }

  private void addFile(Path file, String run) {
    try (EventReader reader = new EventReader(file)) {
      for (Optional<Event> e = reader.next(); e.isPresent(); e = reader.next()) {
        Event event = e.get();
        for (Summary.Value v : event.getSummary().getValueList()) {
          value(v)
              .ifPresent(
                  x ->
                      series
                          .computeIfAbsent(new Key(run, v.getTag()), k -> new ArrayList<>())
                          .add(new Point(event.getStep(), event.getWallTime(), x)));
        }
      }
    }
  }

  /** The number of a summary in either of the forms TensorFlow writes. */
  private static OptionalDouble value(Summary.Value v) {
    if (v.hasSimpleValue()) {
      return OptionalDouble.of(v.getSimpleValue());
    }
    if (v.hasTensor() && v.getMetadata().getPluginData().getPluginName().equals("scalars")) {
      try (Tensor t = TensorCodec.decode(v.getTensor())) {
        return OptionalDouble.of(t.doubleValue());
      }
    }
    return OptionalDouble.empty();
  }

  /** The series in order of tag and run, each in order of steps. */
  public Map<Key, List<Point>> series() {
    return series;
  }
}
