package dev.millrace.interop.ring;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.interop.ChildProcess;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.sync.SyncReplicasOptimizer;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;

/**
 * A task of synchronous training, as {@code sync_training.py} is one of TensorFlow's. Arguments:
 * the network, the hosts of ps and worker, the job and the index.
 */
final class SyncTask {
  private static final float RATE = .01f;

  private SyncTask() {}

  static void main(String[] args) throws IOException {
    List<String> ps = List.of(args[1].split(","));
    List<String> workers = List.of(args[2].split(","));
    ClusterSpec cluster = ClusterSpec.of(Map.of("ps", ps, "worker", workers));
    TaskId task = new TaskId(args[3], Integer.parseInt(args[4]));
    Server server = Server.start(cluster, task, StandardOps.registry());
    if (task.job().equals("ps")) {
      ChildProcess.reply(System.out, "ready");
      System.in.transferTo(OutputStream.nullOutputStream());
    } else {
      work(server, args[0], ps.size(), workers.size());
    }
    Runtime.getRuntime().halt(0);
  }

  private static void work(Server server, String network, int servers, int workers)
      throws IOException {
    int index = server.task().index();
    String here = "/job:worker/task:" + index;
    Scope scope =
        Scope.of(StandardOps.newGraph()).withDevice(ReplicaDeviceSetter.of(servers, here));
    RankModel model = RankModel.of(scope, network);
    SyncReplicasOptimizer sync =
        new SyncReplicasOptimizer(new GradientDescent(RATE), workers, workers);
    Node train = sync.minimize(scope, model.loss(), GlobalStep.of(scope));
    ConfigProto config =
        ConfigProto.newBuilder().addDeviceFilters("/job:ps").addDeviceFilters(here).build();
    TrainingSettings settings =
        TrainingSettings.DEFAULT.withChief(index == 0).withHooks(sync.hook(index == 0));
    Tensor[] batch = RankModel.batch(index);
    MonitoredTrainingSession session =
        MonitoredTrainingSession.start(
            scope, graph -> new ClusterSession(graph, server.target(), config), settings);
    TrainingRank.serve(
        feeds ->
            session
                .run(
                    Map.of(model.images(), feeds[0], model.labels(), feeds[1]),
                    List.of(model.loss()),
                    List.of(train))
                .toArray(Tensor[]::new),
        batch);
  }
}
