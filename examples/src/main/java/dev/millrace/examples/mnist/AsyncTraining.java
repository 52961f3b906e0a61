package dev.millrace.examples.mnist;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.ClusterSpec;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.TaskId;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.op.Variable;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * One task of asynchronous between-graph training: parameter servers hold the variables, every
 * worker builds the same graph, reads them, computes gradients on its own batches, and applies them
 * without waiting for the others. Worker 0 is the chief: it initialises and evaluates.
 */
public final class AsyncTraining {
  /** Counts, on each parameter server, the workers that are done; not part of the model. */
  private static final String FINISHED = "millrace_finished_workers";

  private static final long READY_TIMEOUT_NANOS = 120_000_000_000L;

  /** What to train and for how long. */
  public record Settings(
      Network network,
      Method method,
      long steps,
      int batchSize,
      float learningRate,
      long seed,
      Path dataDir) {}

  private final ClusterSpec cluster;
  private final Settings settings;
  private final PrintStream out;

  public AsyncTraining(ClusterSpec cluster, Settings settings, PrintStream out) {
    this.cluster = cluster;
    this.settings = settings;
    this.out = out;
  }

  /** Is a parameter server until all workers have finished. */
  public void serve(int index) throws InterruptedException {
    try (Server server = Server.start(cluster, new TaskId("ps", index), StandardOps.registry())) {
      int workers = cluster.tasks("worker").size();
      long finished = 0;
      while (finished < workers) {
        Thread.sleep(100);
        Variable v =
            server
                .worker()
                .devices()
                .getFirst()
                .resources()
                .find("", FINISHED + "_" + index, Variable.class);
        Tensor t = v == null ? null : v.readOrNull();
        if (t != null) {
          finished = t.longValue();
          t.release();
        }
      }
    }
  }

  /** Is a worker; the chief returns the accuracy on the test images, others NaN. */
  public double work(int index) {
    TaskId task = new TaskId("worker", index);
    boolean chief = index == 0;
    int ps = cluster.tasks("ps").size();
    try (Server server = Server.start(cluster, task, StandardOps.registry())) {
      MnistModel model =
          MnistModel.build(
              settings.network,
              settings.method.optimizer(settings.learningRate),
              settings.seed,
              s -> s.withDevice(ReplicaDeviceSetter.of(ps, "/job:worker/task:" + index)));
      Finish finish = addFinish(Scope.of(model.graph()), ps);
      List<Output> initialized = initializedOutputs(model);
      // A worker needs the parameter servers and itself, not the other workers.
      ConfigProto config =
          ConfigProto.newBuilder()
              .addDeviceFilters("/job:ps")
              .addDeviceFilters("/job:worker/task:" + index)
              .build();
      try (Session session = new ClusterSession(model.graph(), server.target(), config)) {
        if (chief) {
          session.run(finish.reset);
          session.run(model.initialize());
        } else {
          awaitInitialized(session, initialized);
        }
        train(session, model, index, chief);
        double accuracy = chief ? evaluate(session, model) : Double.NaN;
        session.run(finish.add);
        return accuracy;
      }
    }
  }

  private void train(Session session, MnistModel model, int index, boolean chief) {
    MnistData data = MnistData.train(settings.dataDir);
    MnistData.Batches batches = data.batches(settings.batchSize, settings.seed + index);
    Session.Callable step =
        session.makeCallable(
            List.of(model.images(), model.labels()),
            List.of(model.loss(), model.globalStep().read()),
            List.of(model.train()));
    Progress progress = new Progress(out, settings.steps);
    long done = 0;
    while (done < settings.steps) {
      Tensor[] batch = batches.next();
      Tensor[] r = step.run(batch);
      double loss = r[0].doubleValue();
      done = r[1].longValue();
      batch[0].close();
      batch[1].close();
      r[0].close();
      r[1].close();
      if (Double.isNaN(loss)) {
        throw MillraceException.failedPrecondition(
            "The loss is NaN at step %d. Use a smaller --learning-rate (now %s).",
            done, settings.learningRate);
      }
      if (chief) {
        progress.step(done, loss);
      }
    }
    if (chief) {
      progress.end();
    }
  }

  private double evaluate(Session session, MnistModel model) {
    MnistData test = MnistData.test(settings.dataDir);
    int batch = 1000;
    double sum = 0;
    int n = test.size() / batch;
    for (int i = 0; i < n; i++) {
      Tensor a =
          session.fetch(
              model.accuracy(),
              Map.of(
                  model.images(), test.images(i * batch, batch),
                  model.labels(), test.labels(i * batch, batch)));
      sum += a.doubleValue();
    }
    return sum / n;
  }

  private static List<Output> initializedOutputs(MnistModel model) {
    List<Output> all = new ArrayList<>();
    for (GraphVariable v : Variables.global(model.graph())) {
      all.add(
          Scope.of(model.graph())
              .colocatedWith(v.node())
              .node("IsVariableInitialized")
              .input(v.node().output(0))
              .add()
              .output());
    }
    return all;
  }

  /** Waits for the chief's initialisation, with a limit and a word about what is missing. */
  private void awaitInitialized(Session session, List<Output> initialized) {
    long start = System.nanoTime();
    long reported = start;
    while (true) {
      long missing =
          session.run(Map.of(), initialized, List.of()).stream()
              .filter(t -> !t.booleanValue())
              .count();
      if (missing == 0) {
        return;
      }
      long now = System.nanoTime();
      if (now - start > READY_TIMEOUT_NANOS) {
        throw new MillraceException(
            Code.DEADLINE_EXCEEDED,
            "The model was not initialised within "
                + READY_TIMEOUT_NANOS / 1_000_000_000L
                + " s: "
                + missing
                + " of "
                + initialized.size()
                + " variables have no value. Is the chief, worker 0, running?");
      }
      if (now - reported > 10_000_000_000L) {
        reported = now;
        out.printf(
            "Waiting for worker 0 to initialise the model: %d of %d variables missing.%n",
            missing, initialized.size());
      }
      LockSupport.parkNanos(100_000_000L);
    }
  }

  /** Nodes that set the counters of finished workers to zero and count one up. */
  private record Finish(Node[] reset, Node[] add) {}

  private static Finish addFinish(Scope scope, int psTasks) {
    Node[] reset = new Node[psTasks];
    Node[] add = new Node[psTasks];
    for (int i = 0; i < psTasks; i++) {
      Scope s = scope.withDevice("/job:ps/task:" + i);
      Output v = VariableV2.of(s.withName(FINISHED + "_" + i), DType.INT64, Shape.scalar());
      reset[i] = s.node("Assign").input(v).input(Const.of(s, 0L)).add();
      add[i] = s.node("AssignAdd").input(v).input(Const.of(s, 1L)).add();
    }
    return new Finish(reset, add);
  }
}
