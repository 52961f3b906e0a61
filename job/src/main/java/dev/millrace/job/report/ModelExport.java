package dev.millrace.job.report;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.runtime.Session;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.checkpoint.SavedModel;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.variable.GraphVariable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exports the model that a job trains as a SavedModel to serve, in a folder called by the step: at
 * the end in the folder {@code export}, and the best one in {@code best/export}. An export that
 * fails does not fail the job, whose checkpoint is complete.
 *
 * <p>Threading: used by the thread of the steps.
 */
public final class ModelExport implements SessionRunHook {
  /** The folder of the exports in that of the job, and in that of the best model. */
  public static final String FOLDER = "export";

  /** How many exports of the best model are kept. */
  private static final int KEPT = 2;

  private static final Logger LOG = LoggerFactory.getLogger(ModelExport.class);

  private final Path folder;
  private final Graph graph;
  private final SavedModel.Signature signature;
  private final GraphVariable step;
  private final BooleanSupplier stopped;

  /** Null until the session begins. */
  private SavedModel model;

  /**
   * Exports of what computes {@code predictions}.
   *
   * @param folder that of the job
   * @param inputs what is fed to the model, in the order of the data
   * @param names the names that some inputs have for callers
   * @param stopped whether training ended before its last step; then nothing is exported
   */
  public ModelExport(
      Path folder,
      List<Output> inputs,
      Map<String, Output> names,
      Map<String, Output> predictions,
      GraphVariable step,
      BooleanSupplier stopped) {
    this.folder = folder;
    this.graph = step.graph();
    this.step = step;
    this.stopped = stopped;
    signature = new SavedModel.Signature(served(inputs, names, predictions), predictions);
  }

  /** The inputs that the predictions need, which labels are not. */
  private static Map<String, Output> served(
      List<Output> inputs, Map<String, Output> names, Map<String, Output> predictions) {
    Set<Node> needed = behind(predictions);
    Map<String, Output> served = new LinkedHashMap<>();
    for (int i = 0; i < inputs.size(); i++) {
      Output input = inputs.get(i);
      if (needed.contains(input.node())) {
        String name = "input_" + i;
        for (Map.Entry<String, Output> e : names.entrySet()) {
          Node named = e.getValue().node();
          boolean same =
              named == input.node()
                  || named.inputCount() == 1 && named.input(0).node() == input.node();
          name = same ? e.getKey() : name;
        }
        served.put(name, input);
      }
    }
    return served;
  }

  private static Set<Node> behind(Map<String, Output> outputs) {
    Set<Node> found = new HashSet<>();
    Deque<Node> open = new ArrayDeque<>();
    outputs.values().stream().map(Output::node).filter(found::add).forEach(open::push);
    while (!open.isEmpty()) {
      open.pop().inputs().stream().map(Output::node).filter(found::add).forEach(open::push);
    }
    return found;
  }

  @Override
  public void begin() {
    try {
      model = SavedModel.of(graph, Map.of(SavedModel.SERVING, signature));
    } catch (MillraceException e) {
      LOG.warn("The model will not be exported: {}", e.getMessage());
    }
  }

  /** Exports the best model so far, as which {@code session} has it now. */
  public void best(Session session, long now) {
    Path parent = folder.resolve(BestModel.FOLDER).resolve(FOLDER);
    export(session, parent, now);
    deleteOld(parent);
  }

  /** Deletes all exports in {@code parent} but the newest, which servers may still be loading. */
  private static void deleteOld(Path parent) {
    try (Stream<Path> all = Files.list(parent)) {
      List<Path> old =
          all.filter(f -> f.getFileName().toString().matches("[0-9]+"))
              .sorted(Comparator.comparingLong(f -> Long.parseLong(f.getFileName().toString())))
              .toList();
      for (Path f : old.subList(0, Math.max(0, old.size() - KEPT))) {
        try (Stream<Path> files = Files.walk(f)) {
          for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
            Files.delete(file);
          }
        }
      }
    } catch (IOException e) {
      LOG.warn("Older exports in {} may be left behind: {}", parent, e.toString());
    }
  }

  @Override
  public void end(Session session) {
    if (!stopped.getAsBoolean()) {
      export(session, folder.resolve(FOLDER), GlobalStep.now(session, step));
    }
  }

  private void export(Session session, Path parent, long now) {
    Path target = parent.resolve(Long.toString(now));
    if (model == null || Files.exists(target)) {
      return;
    }
    try {
      model.export(session, target);
      LOG.info("Exported the model of step {} to {}.", now, target);
    } catch (MillraceException e) {
      LOG.warn(
          "The model of step {} was not exported; its checkpoint is complete. {}",
          now,
          e.getMessage());
    }
  }
}
