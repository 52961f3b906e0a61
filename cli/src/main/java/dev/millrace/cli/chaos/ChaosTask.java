package dev.millrace.cli.chaos;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.spec.TfConfig;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.graph.store.ProcessStore;
import dev.millrace.job.Mode;
import dev.millrace.ops.StandardOps;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/** A process of the job that {@code millrace chaos} runs: a parameter server or a worker. */
public final class ChaosTask {
  private static final Duration SAVE_EVERY = Duration.ofSeconds(10);
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final long PACE_NANOS = 1_000_000;

  private ChaosTask() {}

  /**
   * Is the task that TF_CONFIG says; the arguments are the folder, the mode, and what is durable.
   */
  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    TfConfig place = TfConfig.ofEnvironment();
    TaskId id = place.task();
    int code = 0;
    try (TaskHistory history = TaskHistory.of(folder, id)) {
      if (id.job().equals("ps")) {
        serve(place, folder, args[2].equals("process"), history);
      } else {
        work(place, folder, Mode.of(args[1]), history);
      }
    } catch (MillraceException e) {
      System.err.println(id + " fails: " + e.getMessage());
      code = 1;
    }
    System.exit(code);
  }

  private static void serve(TfConfig place, Path folder, boolean keeps, TaskHistory history)
      throws InterruptedException, IOException {
    Path state = folder.resolve("state").resolve(place.task().job() + "-" + place.task().index());
    try (ProcessStore store = keeps ? ProcessStore.open(state) : null;
        Server server =
            Server.start(
                place.cluster(),
                place.task(),
                StandardOps.registry(),
                store == null ? VariableStore.MEMORY : store)) {
      history.up();
      server.join();
    }
  }

  private static void work(TfConfig place, Path folder, Mode mode, TaskHistory history)
      throws IOException {
    int index = place.task().index();
    int workers = place.cluster().replicas().size();
    CountingModel model =
        CountingModel.of(mode, place.cluster().tasks("ps").size(), workers, index);
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withChief(index == 0)
            .withFolder(folder.resolve("train"))
            .withSaveEvery(SAVE_EVERY)
            .withMaxWait(PATIENCE)
            .withStepTimeout(PATIENCE)
            .withSavesOnTermination(false)
            .withHooks(model.hooks().toArray(SessionRunHook[]::new));
    Path stop = folder.resolve(ChaosJob.STOP);
    try (Server server = Server.start(place.cluster(), place.task(), StandardOps.registry());
        var training =
            MonitoredTrainingSession.start(
                model.scope(),
                graph -> server.session(graph, "/job:ps", place.task().name()),
                settings)) {
      history.up();
      training.loop(
          t -> {
            if (Files.exists(stop)) {
              t.requestStop();
              return;
            }
            int update = history.next();
            try (Tensor slot = Tensor.vector(slot(update, index, workers))) {
              t.run(Map.of(model.slot(), slot), model.train());
            }
            history.acknowledged(update);
            Timers.system().park(ChaosTask.class, PACE_NANOS);
          });
    }
  }

  /** The element of a ledger that counts an update. */
  static int slot(int update, int worker, int workers) {
    return (int) (((long) update * workers + worker) % CountingModel.SLOTS);
  }
}
