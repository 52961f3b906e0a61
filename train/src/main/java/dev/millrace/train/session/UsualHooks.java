package dev.millrace.train.session;

import com.google.protobuf.TextFormat;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.runtime.Session;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.record.EventWriter;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.hook.CheckpointSaverHook;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.NanTensorHook;
import dev.millrace.train.hook.Schedule;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.StepCounterHook;
import dev.millrace.train.hook.SummarySaverHook;
import dev.millrace.train.hook.TaskSummaryHook;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.wire.GraphCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The hooks every training has: the chief of one with a folder counts, summarises and saves. */
final class UsualHooks implements AutoCloseable {
  private final List<SessionRunHook> hooks = new ArrayList<>();
  private EventWriter events;

  /** For what only this task measures. */
  private EventWriter own;

  static UsualHooks of(Graph graph, TrainingSettings settings, Scaffold scaffold) {
    UsualHooks usual = new UsualHooks();
    try {
      usual.addForTask(graph, settings);
      if (settings.chief()) {
        usual.addForChief(graph, settings, scaffold);
      }
      return usual;
    } catch (RuntimeException e) {
      usual.close();
      throw e;
    }
  }

  /** What every task has that has a name. */
  private void addForTask(Graph graph, TrainingSettings settings) {
    GraphVariable step = GlobalStep.find(graph);
    long every = settings.summariesEverySteps();
    if (settings.folder() == null || settings.taskName() == null || step == null || every == 0) {
      return;
    }
    own = new EventWriter(settings.folder().resolve(settings.taskName().replace('/', '_')));
    hooks.add(new TaskSummaryHook(step, settings.hooks(), every, own));
  }

  private void addForChief(Graph graph, TrainingSettings settings, Scaffold scaffold) {
    Path folder = settings.folder();
    GraphVariable step = GlobalStep.find(graph);
    if (folder != null) {
      if (step == null) {
        throw MillraceException.invalid(
            "The graph has no global step, which saving in %s needs. Make one with GlobalStep.of"
                + " and hand it to the optimizer.",
            folder);
      }
      events = new EventWriter(folder);
      hooks.add(new GraphFiles(graph, folder, events));
    }
    if (step != null && settings.logEverySteps() > 0) {
      hooks.add(new StepCounterHook(step, settings.logEverySteps(), events));
    }
    Output summary = scaffold.summary();
    if (events != null && summary != null && settings.summariesEverySteps() > 0) {
      hooks.add(
          new SummarySaverHook(
              step, summary, Schedule.everySteps(settings.summariesEverySteps()), events));
    }
    if (folder != null) {
      boolean isWatched = settings.hooks().stream().anyMatch(NanTensorHook.class::isInstance);
      hooks.add(
          new CheckpointSaverHook(
              step,
              scaffold.saver(),
              folder.resolve(CheckpointSaverHook.NAME),
              saving(settings),
              events,
              isWatched ? new NanCheck(graph) : s -> {}));
    }
  }

  private static Schedule saving(TrainingSettings settings) {
    Duration every = settings.saveEvery();
    return every != null
        ? Schedule.every(every, settings.platform().timers())
        : settings.saveEverySteps() > 0
            ? Schedule.everySteps(settings.saveEverySteps())
            : Schedule.never();
  }

  List<SessionRunHook> hooks() {
    return hooks;
  }

  @Override
  public void close() {
    for (EventWriter w : new EventWriter[] {own, events}) {
      if (w != null) {
        w.close();
      }
    }
  }

  /**
   * Writes the graph, for people and for TensorBoard: once the model has its values, as a graph
   * that the checkpoint in the folder does not fit must not replace the one that it does.
   */
  private static final class GraphFiles implements SessionRunHook {
    private final Graph graph;
    private final Path folder;
    private final EventWriter events;
    private boolean written;

    GraphFiles(Graph graph, Path folder, EventWriter events) {
      this.graph = graph;
      this.folder = folder;
      this.events = events;
    }

    @Override
    public void afterCreateSession(Session session, Coordinator coordinator) {
      if (written) {
        return;
      }
      written = true;
      var def = GraphCodec.encode(graph);
      events.addGraph(def.toByteString());
      AtomicFile.write(
          folder.resolve("graph.pbtxt"),
          TextFormat.printer().printToString(def).getBytes(StandardCharsets.UTF_8));
    }
  }
}
