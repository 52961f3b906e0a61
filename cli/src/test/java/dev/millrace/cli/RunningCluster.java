package dev.millrace.cli;

import dev.millrace.cluster.HeldPorts;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.ops.StandardOps;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A parameter server and a worker in this process, reached through their ports. */
public final class RunningCluster implements AutoCloseable {
  final HeldPorts ports = HeldPorts.take(2);
  public final List<Server> servers = new ArrayList<>();
  final ClusterSpec spec =
      ClusterSpec.of(
          Map.of(
              "ps", List.of(ports.addresses().get(0)),
              "worker", List.of(ports.addresses().get(1))));

  public RunningCluster start(String job) {
    servers.add(Server.start(spec, new TaskId(job, 0), StandardOps.registry()));
    return this;
  }

  /** The address as another process on this machine would name it. */
  public String address(String job) {
    return spec.address(new TaskId(job, 0));
  }

  /** A command about this cluster. */
  public Ran ran(String command, String... more) {
    List<String> args = new ArrayList<>(List.of(command));
    args.addAll(List.of("--ps_hosts", address("ps"), "--worker_hosts", address("worker")));
    args.addAll(List.of(more));
    return Ran.millrace(args);
  }

  @Override
  public void close() {
    servers.forEach(Server::close);
    ports.close();
  }
}
