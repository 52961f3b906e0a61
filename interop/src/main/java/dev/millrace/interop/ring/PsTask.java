package dev.millrace.interop.ring;

import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.ComputeSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.interop.ChildProcess;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.Session;
import dev.millrace.train.PsStrategy;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.variable.Variables;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;

/**
 * A task of training with parameter servers. Arguments: the network, the hosts of ps and worker,
 * the job and the index. Workers do what {@link TrainingRank} does, each without waiting for the
 * others; worker 0 must be ready before the others start.
 */
final class PsTask {
  private static final float RATE = .01f;

  private PsTask() {}

  static void main(String[] args) throws IOException {
    // The hosts are really one machine: what tasks share in memory would not pass the links.
    Config settings =
        Config.ofProcess().with(ComputeSettings.THREADS, 1).with(ClusterSettings.LINK, false);
    Context.of("task", settings).<Void, IOException>call(() -> work(args));
  }

  private static Void work(String[] args) throws IOException {
    List<String> ps = List.of(args[1].split(","));
    ClusterSpec cluster = ClusterSpec.of(Map.of("ps", ps, "worker", List.of(args[2].split(","))));
    TaskId task = new TaskId(args[3], Integer.parseInt(args[4]));
    try (Server server = Server.start(cluster, task, StandardOps.registry())) {
      if (task.job().equals("ps")) {
        ChildProcess.reply(System.out, "ready");
        // Until whoever started it lets go of it.
        System.in.transferTo(OutputStream.nullOutputStream());
        return null;
      }
      String here = "/job:worker/task:" + task.index();
      Scope scope =
          Scope.of(StandardOps.newGraph())
              .withDevice(
                  // By turns, all weights would be on one server and all biases on the other.
                  ReplicaDeviceSetter.of("/job:ps", here, PsStrategy.byBytes(ps.size())));
      RankModel model = RankModel.of(scope, args[0]);
      Node train = new GradientDescent(RATE).minimize(scope, model.loss(), null);
      Node init = Variables.initializer(scope);
      ConfigProto config =
          ConfigProto.newBuilder().addDeviceFilters("/job:ps").addDeviceFilters(here).build();
      try (Session session = new ClusterSession(scope.graph(), server.target(), config)) {
        if (task.index() == 0) {
          session.run(init);
        }
        TrainingRank.serve(
            session.makeCallable(
                List.of(model.images(), model.labels()), List.of(model.loss()), List.of(train)),
            RankModel.batch(task.index()));
      }
    }
    return null;
  }
}
