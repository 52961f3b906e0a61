package dev.millrace.cli.cluster;

import dev.millrace.cluster.Server;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.graph.store.ProcessStore;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** A bare server: a task that holds devices and runs what sessions send it. */
@Command(
    name = "server",
    description = "Run one task of a cluster until it is stopped.",
    footer = {
      "",
      "Example, one terminal each:",
      "  millrace server --ps_hosts localhost:2220 --worker_hosts localhost:2221 \\",
      "      --job_name ps --task_index 0",
      "  millrace server --cluster ps=localhost:2220 --cluster worker=localhost:2221 \\",
      "      --job_name worker --task_index 0",
      "",
      "A task that other hosts can reach needs a credential:",
      "  millrace credentials new job.credentials",
      "  millrace server --ps_hosts host0:2222 --worker_hosts host1:2222 --job_name ps \\",
      "      --task_index 0 --credentials job.credentials"
    })
public final class ServerCommand implements Callable<Integer> {
  @Mixin ClusterFlags cluster;
  @Mixin AdmissionFlags admission;

  @Option(
      names = {"--operation_timeout", "--operation-timeout"},
      paramLabel = "SECONDS",
      description =
          "Time limit of steps whose client sets no timeout; a step beyond it fails with"
              + " DEADLINE_EXCEEDED. Default: no limit.")
  double operationTimeoutSeconds;

  @Option(
      names = {"--state-dir", "--state_dir"},
      paramLabel = "FOLDER",
      description =
          "Keep variables in this folder, one per task, so that they outlive the process: a server"
              + " that is killed and started again has every update it acknowledged. Default: in"
              + " memory only.")
  Path state;

  @Override
  public Integer call() throws InterruptedException {
    ConfigProto sessions =
        ConfigProto.newBuilder()
            .setOperationTimeoutInMs(Math.round(operationTimeoutSeconds * 1000))
            .build();
    try (ProcessStore store = state == null ? null : ProcessStore.open(state)) {
      Server server =
          admission
              .serverContext()
              .call(
                  () ->
                      Server.start(
                          cluster.cluster(),
                          cluster.task(),
                          StandardOps.registry(),
                          sessions,
                          store == null ? VariableStore.MEMORY : store));
      Runtime.getRuntime().addShutdownHook(new Thread(server::close, "millrace-stop"));
      server.join();
    }
    return 0;
  }
}
