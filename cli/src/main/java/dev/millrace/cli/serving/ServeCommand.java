package dev.millrace.cli.serving;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.serving.PredictorOptions;
import dev.millrace.serving.served.ServingLimits;
import dev.millrace.serving.server.ModelServer;
import dev.millrace.serving.server.ModelServerOptions;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Serves models until it is stopped. */
@Command(
    name = "serve",
    description = {
      "Serve SavedModels over TensorFlow Serving's REST API and gRPC services until stopped.",
      "A folder is a SavedModel, or has one for each version in folders called by numbers; new"
          + " versions are picked up."
    },
    footer = {
      "",
      "Examples:",
      "  millrace serve logs/export",
      "  millrace serve --model click=models/click --model rank=models/rank \\",
      "      --keep-versions 2 --label click/canary=7",
    })
public final class ServeCommand implements Callable<Integer> {
  private static final Duration GRACE = Duration.ofSeconds(20);

  @Spec CommandSpec spec;

  @Parameters(
      paramLabel = "FOLDER",
      arity = "0..1",
      description = "The model; its name is that of the folder. Or use --model.")
  Path folder;

  @Option(
      names = "--model",
      paramLabel = "NAME=FOLDER",
      description = "A model and its name. May be given several times.")
  Map<String, Path> models = new LinkedHashMap<>();

  @Option(
      names = "--label",
      paramLabel = "NAME/LABEL=VERSION",
      description = "A label of a version, which is served as long as it is there.")
  Map<String, Long> labels = new LinkedHashMap<>();

  @Option(
      names = "--keep-versions",
      paramLabel = "N",
      defaultValue = "1",
      description = "How many of the newest versions are served. Default: ${DEFAULT-VALUE}.")
  int kept;

  @Option(
      names = "--rest-port",
      paramLabel = "PORT",
      defaultValue = "8501",
      description = "The port of the REST API; 0 for any, -1 for none. Default: ${DEFAULT-VALUE}.")
  int restPort;

  @Option(
      names = "--grpc-port",
      paramLabel = "PORT",
      defaultValue = "8500",
      description = "The port of the gRPC services; as above. Default: ${DEFAULT-VALUE}.")
  int grpcPort;

  @Option(
      names = "--host",
      paramLabel = "ADDRESS",
      defaultValue = "127.0.0.1",
      description = "The address to listen on. Default: ${DEFAULT-VALUE}.")
  String host;

  @Option(
      names = "--insecure",
      description = "Allow an address that others can reach: there are no passwords and no TLS.")
  boolean insecure;

  @Option(
      names = "--max-batch",
      paramLabel = "ROWS",
      defaultValue = "64",
      description =
          "Rows that requests are joined to at most; 1 for no batches. Default:"
              + " ${DEFAULT-VALUE}.")
  int batchRows;

  @Option(
      names = "--batch-delay",
      paramLabel = "MICROS",
      defaultValue = "0",
      description =
          "How long a request may wait for others although a processor is free. Default: 0, as"
              + " batches form by themselves under load.")
  long batchMicros;

  @Option(
      names = "--poll-seconds",
      paramLabel = "SECONDS",
      defaultValue = "1",
      description = "How often to look for new versions. Default: ${DEFAULT-VALUE}.")
  double pollSeconds;

  @Option(
      names = "--max-body",
      paramLabel = "BYTES",
      defaultValue = "67108864",
      description = "The length of a request at most. Default: ${DEFAULT-VALUE}.")
  int bodyBytes;

  @Option(
      names = "--max-requests",
      paramLabel = "N",
      defaultValue = "256",
      description = "Requests answered at once; more are refused. Default: ${DEFAULT-VALUE}.")
  int requests;

  @Option(
      names = "--arrival-seconds",
      paramLabel = "SECONDS",
      defaultValue = "15",
      description = "How long a request may take to arrive. Default: ${DEFAULT-VALUE}.")
  double arrivalSeconds;

  @Override
  public Integer call() throws InterruptedException {
    ModelServer server = ModelServer.start(options());
    PrintWriter out = spec.commandLine().getOut();
    String model = server.models().names().getFirst();
    if (server.restPort() >= 0) {
      out.printf(
          "REST: http://%s:%d/v1/models/%s:predict; health at /healthz and /readyz, metrics at"
              + " /metrics%n",
          host, server.restPort(), model);
    }
    if (server.grpcPort() >= 0) {
      out.printf("gRPC: %s:%d%n", host, server.grpcPort());
    }
    out.println("Serving " + String.join(", ", server.models().names()) + "; Ctrl-C stops.");
    out.flush();
    CountDownLatch stopped = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  if (!server.stop(GRACE)) {
                    out.println("Stopped with requests that took longer than 20 s.");
                  }
                  stopped.countDown();
                },
                "millrace-stop"));
    while (!Timers.system().await(stopped, Duration.ofHours(1).toNanos())) {
      // Until SIGTERM.
    }
    return 0;
  }

  private ModelServerOptions options() {
    Map<String, Path> all = new LinkedHashMap<>(models);
    if (folder != null) {
      all.put(nameOf(folder), folder);
    }
    if (all.isEmpty()) {
      throw MillraceException.invalid("Name a FOLDER, or models by --model NAME=FOLDER.");
    }
    ServingLimits usual = ServingLimits.DEFAULT;
    ServingLimits limits =
        new ServingLimits(
            bodyBytes,
            Math.max(usual.pendingBytes(), 2L * bodyBytes),
            usual.jsonDepth(),
            requests,
            usual.connections(),
            seconds(arrivalSeconds),
            usual.idle());
    return new ModelServerOptions(
        all,
        labels(),
        kept,
        seconds(pollSeconds),
        host,
        restPort,
        grpcPort,
        insecure,
        PredictorOptions.DEFAULT.withBatches(batchRows, Duration.ofNanos(batchMicros * 1000)),
        limits);
  }

  private static Duration seconds(double s) {
    if (!(s > 0) || s > 1e6) {
      throw MillraceException.invalid("%s seconds is not a time that can be used.", s);
    }
    return Duration.ofMillis(Math.max(1, Math.round(s * 1000)));
  }

  /** The name of the folder, or that of the one above where the folder is a version. */
  static String nameOf(Path folder) {
    Path at = folder.toAbsolutePath().normalize();
    String name = String.valueOf(at.getFileName());
    return name.matches("[0-9]+") && at.getParent() != null && at.getParent().getFileName() != null
        ? at.getParent().getFileName().toString()
        : name;
  }

  private Map<String, Map<String, Long>> labels() {
    Map<String, Map<String, Long>> all = new HashMap<>();
    labels.forEach(
        (key, version) -> {
          int slash = key.indexOf('/');
          if (slash < 1 || slash == key.length() - 1) {
            throw MillraceException.invalid(
                "--label %s=%d must be of the form NAME/LABEL=VERSION.", key, version);
          }
          all.computeIfAbsent(key.substring(0, slash), n -> new HashMap<>())
              .put(key.substring(slash + 1), version);
        });
    return all;
  }
}
