package dev.millrace.cli.k8s;

import dev.millrace.base.MillraceException;
import dev.millrace.cli.text.CommandOutput;
import dev.millrace.cli.text.Yaml;
import dev.millrace.job.Mode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Prints a training job as Kubernetes manifests. */
@Command(
    name = "k8s",
    description = "Print Kubernetes manifests for a training job.",
    showDefaultValues = true,
    footer = {
      "",
      "For Kubernetes 1.29 or newer. The job ends by itself: when the chief is done, workers and",
      "parameter servers leave with code 0 and their Jobs are complete. Told to stop before that,",
      "as when a node is drained, they save, leave with code 143, and are replaced. Checkpoints",
      "are in the volume NAME-logs, mounted at /logs, whose class must offer ReadWriteMany.",
      "The tasks prove to each other who they are by a secret, to be made first:",
      "  millrace credentials new mnist.credentials",
      "  kubectl create secret generic mnist-credentials --from-file=mnist.credentials",
      "In ring mode it is another one:",
      "  kubectl create secret generic mnist-token --from-literal=token=$(openssl rand -hex 32)",
      "",
      "Examples:",
      "  millrace k8s --name mnist --image registry.example/millrace --ps 2 --workers 4 \\",
      "      -- train mnist --mode sync --log-dir /logs | kubectl apply -f -",
      "  millrace k8s --name mnist --image registry.example/millrace --mode ring --workers 4",
    })
public final class KubernetesCommand implements Callable<Integer> {
  @Mixin CommandOutput report;

  @Option(names = "--name", required = true, description = "What the job's objects are called.")
  String name;

  @Option(names = "--image", required = true, description = "The image that holds Millrace.")
  String image;

  @Option(names = "--namespace", description = "Where the objects are made.")
  String namespace = "default";

  @Option(names = "--ps", description = "How many parameter servers; none in ring mode.")
  Integer ps;

  @Option(names = "--workers", description = "How many workers.")
  int workers = 2;

  @Option(names = "--mode", description = "How they train: ${COMPLETION-CANDIDATES}.")
  Mode mode = Mode.ASYNC;

  @Option(names = "--port", description = "The port every task listens on.")
  int port = 2222;

  @Option(names = "--cpu", description = "Processors for each task.")
  String cpu = "2";

  @Option(names = "--memory", description = "Memory for each task.")
  String memory = "4Gi";

  @Option(names = "--storage", description = "Size of the volume for checkpoints and events.")
  String storage = "10Gi";

  @Option(names = "--storage-class", description = "Its class; the cluster's default if not given.")
  String storageClass;

  @Option(
      names = "--retries",
      description =
          "How many failed pods are replaced, times the number of tasks, before the job fails.")
  int retries = 10;

  @Option(names = "--grace", paramLabel = "SECONDS", description = "Time to save and leave.")
  int graceSeconds = 90;

  @Option(names = "--cluster-domain", description = "The DNS domain of the Kubernetes cluster.")
  String domain = "cluster.local";

  @Parameters(
      paramLabel = "ARGS",
      arity = "0..*",
      description = "What each task runs, after --; training on MNIST if not given.")
  List<String> args = new ArrayList<>();

  @Override
  public Integer call() {
    if (mode == Mode.LOCAL) {
      throw MillraceException.invalid("--mode local has no tasks to put on a cluster.");
    }
    if (mode == Mode.RING && ps != null && ps > 0) {
      throw MillraceException.invalid("--mode ring has no parameter servers: leave out --ps.");
    }
    int servers = mode == Mode.RING ? 0 : ps == null ? 1 : ps;
    if (mode != Mode.RING && servers < 1) {
      throw MillraceException.invalid("--mode %s needs at least one parameter server.", mode);
    }
    int of = args.indexOf("--mode");
    if (of >= 0 && of + 1 < args.size() && args.get(of + 1).equals("ring") != (mode == Mode.RING)) {
      throw MillraceException.invalid(
          "The tasks train by --mode %s and the manifests are for --mode %s: give k8s the same"
              + " --mode, before the --.",
          args.get(of + 1), mode);
    }
    List<String> run =
        args.isEmpty()
            ? List.of("train", "mnist", "--mode", mode.toString(), "--log-dir", "/logs")
            : args;
    List<Map<String, Object>> objects =
        new Manifests(
                new JobSettings(
                    name,
                    namespace,
                    domain,
                    image,
                    servers,
                    workers,
                    port,
                    cpu,
                    memory,
                    storage,
                    storageClass,
                    retries,
                    graceSeconds,
                    run))
            .objects();
    if (report.json) {
      report.json(Map.of("apiVersion", "v1", "kind", "List", "items", objects));
    } else {
      report.out().print(Yaml.documents(objects));
      report.out().flush();
    }
    return 0;
  }
}
