package dev.millrace.train.checkpoint;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.proto.SaverDef;
import dev.millrace.runtime.Session;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Saves variables to checkpoints and restores them. The files are TensorFlow's, and so are the
 * nodes it adds to the graph. When {@link #save} returns, the checkpoint is complete and on disk,
 * has been read back and verified against its checksums, and the folder's state file names it. A
 * crash before that leaves the earlier checkpoints intact. Steps may run during a save: it takes a
 * consistent snapshot of each variable and its optimizer slots.
 *
 * <p>Threading: one save or restore at a time.
 */
public final class Saver {
  private static final Logger LOG = LoggerFactory.getLogger(Saver.class);
  private static final int PROBLEMS_NAMED = 5;

  private final Graph graph;
  private final SaverOptions options;
  private final List<SaveNodes.Entry> entries;
  private final SaveNodes nodes;
  private final Retention retention;
  private byte[] metaGraph;
  private int metaGraphNodes;

  private Saver(Scope scope, List<SaveNodes.Entry> entries, SaverOptions options) {
    if (entries.isEmpty()) {
      throw MillraceException.invalid(
          "There are no variables to save: make the saver after the variables.");
    }
    this.graph = scope.graph();
    this.options = options;
    this.entries = entries;
    this.nodes =
        SaveNodes.add(scope.withoutControlInputs().withoutColocation(), entries, options.sharded());
    this.retention = new Retention(options);
  }

  /** A saver of all global variables. */
  public static Saver of(Scope scope) {
    return of(scope, SaverOptions.DEFAULT);
  }

  /** A saver of all global variables. */
  public static Saver of(Scope scope, SaverOptions options) {
    return of(scope, Variables.global(scope.graph()), options);
  }

  /** A saver of some variables, each under its own name. */
  public static Saver of(Scope scope, List<GraphVariable> variables, SaverOptions options) {
    return new Saver(
        scope, sorted(variables.stream().map(v -> new SaveNodes.Entry(v.savedName(), v))), options);
  }

  /** A saver of some variables under other names: what the checkpoint calls each. */
  public static Saver of(Scope scope, Map<String, GraphVariable> byName, SaverOptions options) {
    return new Saver(
        scope,
        sorted(byName.entrySet().stream().map(e -> new SaveNodes.Entry(e.getKey(), e.getValue()))),
        options);
  }

  private static List<SaveNodes.Entry> sorted(Stream<SaveNodes.Entry> entries) {
    return entries
        .sorted(Comparator.comparing(SaveNodes.Entry::name).thenComparing(e -> e.variable().name()))
        .toList();
  }

  /**
   * Saves to {@code prefix-step}, or to {@code prefix} itself if {@code step} is null, and returns
   * that. Older checkpoints beyond the limit are removed.
   */
  public Path save(Session session, Path prefix, Long step) {
    return save(session, prefix, step, s -> {});
  }

  /**
   * Saves the model, then calls {@code check}. If that throws, removes the checkpoint and keeps the
   * earlier ones.
   */
  public Path save(Session session, Path prefix, Long step, Consumer<Session> check) {
    Path base = prefix.toAbsolutePath().normalize();
    Path target = step == null ? base : CheckpointFolder.withSuffix(base, "-" + step);
    double now = Context.current().timers().wallTime().toEpochMilli() / 1e3;
    checkWritable(base.getParent());
    retention.recover(base.getParent(), now);
    runSave(session, target);
    try {
      verify(target);
      check.accept(session);
      if (options.metaGraph()) {
        AtomicFile.write(CheckpointFolder.withSuffix(target, ".meta"), metaGraph());
      }
    } catch (RuntimeException e) {
      CheckpointFolder.delete(target);
      throw e;
    }
    retention.saved(target, now);
    return target;
  }

  /** Reads the checkpoint back and verifies its checksums. */
  private static void verify(Path target) {
    try (BundleReader reader = new BundleReader(target)) {
      reader.names().forEach(reader::verify);
    } catch (MillraceException e) {
      String hint =
          e.code() == Code.NOT_FOUND
              ? " (does this task see the folder that the others save to?)"
              : "";
      throw e.withMessage(
          "Checkpoint "
              + target
              + " was saved but cannot be read back, so it is discarded"
              + hint
              + ": "
              + e.getMessage());
    }
  }

  /** The graph, encoded again only when it has grown. */
  private byte[] metaGraph() {
    if (metaGraph == null || metaGraphNodes != graph.size()) {
      metaGraphNodes = graph.size();
      metaGraph = MetaGraph.encode(graph, def()).build().toByteArray();
    }
    return metaGraph;
  }

  /** Saves to exactly {@code prefix} and leaves it at that: no state file, nothing removed. */
  public void export(Session session, Path prefix) {
    runSave(session, prefix.toAbsolutePath());
  }

  private void runSave(Session session, Path target) {
    try (Tensor name = Tensor.scalar(target.toString())) {
      session
          .run(Map.of(nodes.prefix(), name), List.of(nodes.saved()), List.of())
          .forEach(Tensor::close);
    } catch (MillraceException e) {
      removeLeftOvers(target);
      // The merge does not find what another task wrote on a disk of its own.
      String hint =
          e.code() == Code.NOT_FOUND && options.sharded()
              ? " (do all tasks see the same folder? each writes its own part)"
              : "";
      throw e.withMessage(
          "Checkpoint " + target + " could not be saved" + hint + ": " + e.getMessage());
    }
  }

  /** A disk that is full must not stay so by parts that other tasks have written. */
  private static void removeLeftOvers(Path target) {
    try {
      if (Files.isDirectory(target.getParent())) {
        CheckpointFolder.removeLeftOversOf(target);
      }
    } catch (MillraceException e) {
      LOG.warn("Parts of {} may be left behind: {}", target, e.getMessage());
    }
  }

  private static void checkWritable(Path folder) {
    Path there = folder;
    while (there != null && !Files.exists(there)) {
      there = there.getParent();
    }
    if (there != null && !(Files.isDirectory(there) && Files.isWritable(there))) {
      throw new MillraceException(
          Code.PERMISSION_DENIED,
          "Cannot save checkpoints in "
              + folder
              + ": "
              + there
              + (Files.isDirectory(there) ? " is not writable" : " is a file")
              + ". Name another folder or change its permissions.");
    }
  }

  /** Restores from the checkpoint {@code prefix}, which must be of this model and undamaged. */
  public void restore(Session session, Path prefix) {
    Set<GraphVariable> reset = checkFit(prefix);
    try (Tensor name = Tensor.scalar(prefix.toAbsolutePath().toString())) {
      session.run(Map.of(nodes.prefix(), name), reset.isEmpty() ? all() : allExcept(reset));
    }
  }

  private Node[] all() {
    return new Node[] {nodes.restore()};
  }

  /** The nodes that restore all variables except {@code reset}, which get their initial values. */
  private Node[] allExcept(Set<GraphVariable> reset) {
    return entries.stream()
        .map(
            e ->
                reset.contains(e.variable()) ? e.variable().initializer() : nodes.restores().get(e))
        .toArray(Node[]::new);
  }

  /**
   * Restores from the latest checkpoint in {@code folder} that can be read, and returns it; empty
   * if there is no checkpoint. A damaged one is named in the log and the one before is used.
   */
  public Optional<Path> restoreLatest(Session session, Path folder) {
    List<Path> candidates = CheckpointFolder.newestFirst(folder);
    MillraceException first = null;
    for (Path prefix : candidates) {
      try {
        restore(session, prefix);
        LOG.info("Restored from {}.", prefix);
        return Optional.of(prefix);
      } catch (MillraceException e) {
        if (e.code() != Code.DATA_LOSS) {
          throw e;
        }
        LOG.error("Checkpoint {} is damaged, trying the one before: {}", prefix, e.getMessage());
        first = first == null ? e : first;
      }
    }
    if (first != null) {
      throw first.withMessage(
          "All "
              + candidates.size()
              + " checkpoints in "
              + folder
              + " are damaged; the latest: "
              + first.getMessage()
              + " Move the folder away to start over.");
    }
    return Optional.empty();
  }

  /** Fails if the checkpoint {@code prefix} is of another model, with all that does not fit. */
  public void check(Path prefix) {
    checkFit(prefix);
  }

  /** As {@link #check}; returns the resettable variables that do not fit and logs each of them. */
  private Set<GraphVariable> checkFit(Path prefix) {
    Map<GraphVariable, String> resettable =
        ResettableVariable.in(graph).stream()
            .collect(
                Collectors.toMap(ResettableVariable::variable, ResettableVariable::consequence));
    Set<GraphVariable> reset = new LinkedHashSet<>();
    List<String> problems = new ArrayList<>();
    try (BundleReader reader = new BundleReader(prefix)) {
      for (SaveNodes.Entry e : entries) {
        GraphVariable v = e.variable();
        Shape needed = v.part() == null ? v.shape() : v.part().slice().shape();
        if (!reader.contains(e.name())) {
          problems.add("'" + e.name() + "' is missing");
          continue;
        }
        if (reader.dtype(e.name()) == v.dtype()
            && needed.isCompatibleWith(reader.shape(e.name()))) {
          continue;
        }
        if (resettable.containsKey(v)) {
          LOG.warn(
              "Checkpoint {} has '{}' with shape {}, the model needs {}: {}",
              prefix,
              e.name(),
              reader.shape(e.name()),
              needed,
              resettable.get(v));
          reset.add(v);
        } else {
          problems.add(
              String.format(
                  "'%s' is %s%s, needed as %s%s",
                  e.name(), reader.dtype(e.name()), reader.shape(e.name()), v.dtype(), needed));
        }
      }
    }
    if (!problems.isEmpty()) {
      int more = problems.size() - PROBLEMS_NAMED;
      throw MillraceException.invalid(
          "Checkpoint %s is of another model: of %d variables %d do not fit: %s%s. Use another"
              + " folder, or a saver of the variables that fit.",
          prefix,
          entries.size(),
          problems.size(),
          String.join("; ", problems.subList(0, Math.min(PROBLEMS_NAMED, problems.size()))),
          more > 0 ? " and " + more + " more" : "");
    }
    return reset;
  }

  /** The checkpoints kept of those this saver knows, oldest first. */
  public List<Path> lastCheckpoints() {
    return retention.prefixes();
  }

  /** The message that tells TensorFlow how to use the nodes. */
  public SaverDef def() {
    return SaverDef.newBuilder()
        .setFilenameTensorName(nodes.prefix().name())
        .setSaveTensorName(nodes.saved().name())
        .setRestoreOpName(nodes.restore().name())
        .setMaxToKeep(options.maxToKeep())
        .setSharded(options.sharded())
        .setKeepCheckpointEveryNHours((float) (options.keepOneEvery().toSeconds() / 3600.))
        .setVersion(SaverDef.CheckpointFormatVersion.V2)
        .build();
  }
}
