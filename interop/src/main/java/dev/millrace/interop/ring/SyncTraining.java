package dev.millrace.interop.ring;

import dev.millrace.interop.ChildProcess;
import dev.millrace.interop.LoopbackCluster;
import dev.millrace.interop.PythonTensorFlow;
import dev.millrace.interop.bench.Contender;
import dev.millrace.interop.bench.Sample;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * A parameter server and workers that train synchronously, each in its monitored session, by
 * Millrace and by TensorFlow's Python package. A step is one of all workers together.
 */
public final class SyncTraining implements Contender {
  private static final int WORKERS = 2;

  private final LoopbackCluster cluster;
  private final Ranks ranks;

  private SyncTraining(
      String name, String network, Function<List<String>, List<String>> commandOf) {
    cluster = LoopbackCluster.psAndWorkers(1, WORKERS);
    List<String> shape =
        List.of(
            network,
            cluster.address("ps", 0),
            cluster.address("worker", 0) + "," + cluster.address("worker", 1));
    ChildProcess ps = start(shape, "ps", 0, commandOf);
    List<ChildProcess> workers = new ArrayList<>();
    for (int i = 0; i < WORKERS; i++) {
      workers.add(start(shape, "worker", i, commandOf));
    }
    ranks = Ranks.started(name, workers, List.of(ps));
  }

  private static ChildProcess start(
      List<String> shape, String job, int index, Function<List<String>, List<String>> commandOf) {
    List<String> arguments = new ArrayList<>(shape);
    arguments.addAll(List.of(job, Integer.toString(index)));
    Map<String, String> environment = Map.of("CUDA_VISIBLE_DEVICES", "-1");
    return ChildProcess.start("sync-" + job + index, commandOf.apply(arguments), environment);
  }

  /** Synchronous training by Millrace. */
  public static Contender millrace(String network) {
    return new SyncTraining(
        "Millrace, 1 ps + 2 workers", network, a -> ChildProcess.java(SyncTask.class, a));
  }

  /** Synchronous training by Python's TensorFlow. */
  public static Contender tensorFlow(String network) {
    PythonTensorFlow python = PythonTensorFlow.find();
    return new SyncTraining(
        "Python TensorFlow " + python.version() + ", 1 ps + 2 workers",
        network,
        a -> python.command("sync_training.py", a));
  }

  @Override
  public String name() {
    return ranks.name();
  }

  @Override
  public Sample run(Duration duration) {
    return ranks.run(duration);
  }

  @Override
  public void close() {
    ranks.close();
    cluster.close();
  }
}
