package dev.millrace.serving.served;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.serving.Predictor;
import dev.millrace.serving.PredictorOptions;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A served model: its newest versions and those that have a label. A version that appears is loaded
 * and warmed up before it is offered, and only then are older ones retired; requests that use them
 * end first. So a new version costs no request.
 *
 * <p>Threading: {@link #acquire} and {@link #status} on any thread, {@link #poll} on one.
 */
final class ServedModel {
  private static final Logger LOG = LoggerFactory.getLogger(ServedModel.class);
  private static final long RETRY_NANOS = 2_000_000_000L;
  private static final long LONGEST_RETRY_NANOS = 60_000_000_000L;

  /** A version that could not be loaded, and when that is tried again. */
  private record Failure(MillraceException cause, long retryNanos, long pauseNanos) {}

  private final String name;
  private final Path folder;
  private final int kept;
  private final Map<String, Long> labels;
  private final PredictorOptions options;
  private final Timers timers;

  /** The versions offered; replaced as a whole. */
  private volatile NavigableMap<Long, ModelVersion> offered = new TreeMap<>();

  private volatile NavigableMap<Long, Failure> failures = new TreeMap<>();

  /** The version being loaded; -1 for none. */
  private volatile long loading = -1;

  /** Versions that are not offered any more but in use. Touched by the polling thread only. */
  private volatile List<ModelVersion> retired = List.of();

  ServedModel(
      String name, Path folder, int kept, Map<String, Long> labels, PredictorOptions options) {
    this.name = name;
    this.folder = folder;
    this.kept = kept;
    this.labels = Map.copyOf(labels);
    this.options = options;
    this.timers = options.timers();
  }

  String name() {
    return name;
  }

  /** Looks for new versions, loads them, and retires those that are no longer wanted. */
  void poll() {
    Map<Long, Path> wanted = wanted();
    for (Map.Entry<Long, Path> e : wanted.entrySet()) {
      if (!offered.containsKey(e.getKey()) && isDue(e.getKey())) {
        load(e.getKey(), e.getValue());
      }
    }
    NavigableMap<Long, Failure> known = new TreeMap<>(failures);
    if (known.keySet().retainAll(wanted.keySet())) {
      failures = known;
    }
    // A folder that has vanished does not end what is served.
    if (!wanted.isEmpty() && offered.keySet().containsAll(wanted.keySet())) {
      retireAllBut(wanted);
    }
    retired = retired.stream().filter(v -> !v.isClosed()).toList();
  }

  private NavigableMap<Long, Path> wanted() {
    NavigableMap<Long, Path> found = new TreeMap<>(VersionFolders.in(folder));
    NavigableMap<Long, Path> wanted = new TreeMap<>();
    found.descendingMap().entrySet().stream()
        .limit(kept)
        .forEach(e -> wanted.put(e.getKey(), e.getValue()));
    for (long labelled : labels.values()) {
      if (found.containsKey(labelled)) {
        wanted.put(labelled, found.get(labelled));
      }
    }
    return wanted.descendingMap();
  }

  private boolean isDue(long version) {
    Failure f = failures.get(version);
    return f == null || timers.now() - f.retryNanos >= 0;
  }

  private void load(long version, Path at) {
    loading = version;
    long start = timers.now();
    try {
      Predictor p = Predictor.load(at, options);
      WarmUp.run(p);
      NavigableMap<Long, ModelVersion> more = new TreeMap<>(offered);
      more.put(version, new ModelVersion(version, p));
      offered = more;
      NavigableMap<Long, Failure> others = new TreeMap<>(failures);
      others.remove(version);
      failures = others;
      LOG.info(
          "Version {} of model '{}' is available, loaded in {} ms from {}.",
          version,
          name,
          timers.since(start) / 1_000_000,
          at);
    } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
      failed(version, MillraceException.of(e));
    } finally {
      loading = -1;
    }
  }

  private void failed(long version, MillraceException e) {
    Failure before = failures.get(version);
    long pause =
        before == null ? RETRY_NANOS : Math.min(before.pauseNanos * 2, LONGEST_RETRY_NANOS);
    NavigableMap<Long, Failure> more = new TreeMap<>(failures);
    more.put(version, new Failure(e, timers.now() + pause, pause));
    failures = more;
    if (before == null || !String.valueOf(before.cause.getMessage()).equals(e.getMessage())) {
      LOG.warn(
          "Version {} of model '{}' cannot be loaded{}: {}",
          version,
          name,
          offered.isEmpty() ? "" : "; version " + offered.lastKey() + " goes on",
          e.getMessage());
    }
  }

  private void retireAllBut(Map<Long, Path> wanted) {
    NavigableMap<Long, ModelVersion> rest = new TreeMap<>(offered);
    if (!rest.keySet().retainAll(wanted.keySet())) {
      return;
    }
    List<ModelVersion> gone = new ArrayList<>(retired);
    List<ModelVersion> now =
        offered.values().stream().filter(v -> !rest.containsKey(v.number())).toList();
    gone.addAll(now);
    retired = List.copyOf(gone);
    offered = rest;
    now.forEach(ModelVersion::release);
    LOG.info(
        "Model '{}' is served in version {}; no longer in {}.",
        name,
        rest.keySet(),
        now.stream().map(ModelVersion::number).toList());
  }

  /** A version for a request, which releases it: the newest, that of a number, or of a label. */
  ModelVersion acquire(ModelChoice choice) {
    while (true) {
      NavigableMap<Long, ModelVersion> now = offered;
      ModelVersion v = find(now, choice);
      if (v == null) {
        throw absent(now, choice);
      }
      if (v.acquire()) {
        return v;
      }
      // It was retired since; the map has changed.
      Thread.onSpinWait();
    }
  }

  private ModelVersion find(NavigableMap<Long, ModelVersion> now, ModelChoice choice) {
    if (!choice.label().isEmpty()) {
      Long version = labels.get(choice.label());
      return version == null ? null : now.get(version);
    }
    if (choice.version() >= 0) {
      return now.get(choice.version());
    }
    return now.isEmpty() ? null : now.lastEntry().getValue();
  }

  private MillraceException absent(NavigableMap<Long, ModelVersion> now, ModelChoice choice) {
    String there =
        now.isEmpty()
            ? failures.isEmpty()
                ? " It has no version in " + folder + "."
                : " " + failures.lastEntry().getValue().cause.getMessage()
            : " It is served in version " + now.keySet() + ", with the labels " + labels + ".";
    String which =
        !choice.label().isEmpty()
            ? "a version labelled '" + choice.label() + "'"
            : choice.version() >= 0 ? "version " + choice.version() : "a version that can be used";
    return new MillraceException(
        now.isEmpty() ? Code.UNAVAILABLE : Code.NOT_FOUND,
        "Model '" + name + "' does not have " + which + "." + there);
  }

  /** How its versions are, newest first. */
  List<VersionStatus> status() {
    NavigableMap<Long, VersionStatus> all = new TreeMap<>();
    retired.forEach(
        v ->
            all.put(
                v.number(),
                new VersionStatus(
                    v.number(),
                    v.isClosed() ? VersionStatus.State.END : VersionStatus.State.UNLOADING,
                    Code.OK,
                    "")));
    failures.forEach(
        (v, f) ->
            all.put(
                v,
                new VersionStatus(
                    v, VersionStatus.State.END, f.cause.code(), f.cause.getMessage())));
    long now = loading;
    if (now >= 0) {
      all.put(now, new VersionStatus(now, VersionStatus.State.LOADING, Code.OK, ""));
    }
    offered
        .keySet()
        .forEach(v -> all.put(v, new VersionStatus(v, VersionStatus.State.AVAILABLE, Code.OK, "")));
    return List.copyOf(all.descendingMap().values());
  }

  /** Whether there is a version to be used. */
  boolean isReady() {
    return !offered.isEmpty();
  }

  /** Retires all versions. */
  void close() {
    NavigableMap<Long, ModelVersion> last = offered;
    offered = new TreeMap<>();
    last.values().forEach(ModelVersion::release);
  }
}
