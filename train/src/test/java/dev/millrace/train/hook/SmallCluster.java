package dev.millrace.train.hook;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.HeldPorts;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import dev.millrace.train.ReplicaDeviceSetter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Parameter servers and workers in this process, talking over loopback. */
public final class SmallCluster implements AutoCloseable {
  private final int psTasks;
  private final HeldPorts held;
  private final ClusterSpec spec;
  private final List<Server> servers = new ArrayList<>();
  private final List<Server> workers = new ArrayList<>();

  public SmallCluster(int psTasks, int workerTasks) {
    this.psTasks = psTasks;
    this.held = HeldPorts.take(psTasks + workerTasks);
    List<String> ports = held.addresses();
    spec =
        ClusterSpec.of(
            Map.of(
                "ps", ports.subList(0, psTasks), "worker", ports.subList(psTasks, ports.size())));
    for (TaskId task : spec.tasks()) {
      Server server = Server.start(spec, task, StandardOps.registry());
      servers.add(server);
      if (task.job().equals("worker")) {
        workers.add(server);
      }
    }
  }

  /** Parameter server {@code i} is lost with all it had, and is there again. */
  public void restartPs(int i) {
    servers.get(i).close();
    servers.set(i, Server.start(spec, new TaskId("ps", i), StandardOps.registry()));
  }

  /** Sessions of worker {@code i}, which see the parameter servers and itself. */
  public SessionFactory sessionsOf(int i) {
    ConfigProto config =
        ConfigProto.newBuilder()
            .addDeviceFilters("/job:ps")
            .addDeviceFilters("/job:worker/task:" + i)
            .build();
    return graph -> new ClusterSession(graph, workers.get(i).target(), config);
  }

  /** Sessions of parameter server {@code i}. */
  public SessionFactory sessionsOfPs(int i) {
    ConfigProto config =
        ConfigProto.newBuilder()
            .addDeviceFilters("/job:ps/task:0")
            .addDeviceFilters("/job:ps/task:" + i)
            .build();
    String target = servers.get(i).target();
    return graph -> new ClusterSession(graph, target, config);
  }

  /** Variables on the parameter servers, all else on worker {@code i}. */
  public UnaryOperator<Scope> placementOf(int i) {
    return s -> s.withDevice(ReplicaDeviceSetter.of(psTasks, "/job:worker/task:" + i));
  }

  @Override
  public void close() {
    servers.reversed().forEach(Server::close);
    held.close();
  }
}
