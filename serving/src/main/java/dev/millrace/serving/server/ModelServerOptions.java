package dev.millrace.serving.server;

import dev.millrace.base.MillraceException;
import dev.millrace.serving.PredictorOptions;
import dev.millrace.serving.served.ServingLimits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/**
 * What a {@link ModelServer} serves, and where.
 *
 * @param models the folder of each model by its name: one SavedModel, or one for each version in a
 *     folder that is called by its number
 * @param labels the version of each label, by the name of the model
 * @param keptVersions how many of the newest versions of a model are served
 * @param pollEvery how often to look for new versions
 * @param host the address to listen on
 * @param restPort the port of the REST API; 0 for any, -1 for none
 * @param grpcPort the port of the gRPC services; 0 for any, -1 for none
 * @param insecure whether {@code host} may be other than loopback: there are no passwords and no
 *     encryption
 * @param predictor how the models are loaded and calls put together
 * @param limits what callers may use
 */
public record ModelServerOptions(
    Map<String, Path> models,
    Map<String, Map<String, Long>> labels,
    int keptVersions,
    Duration pollEvery,
    String host,
    int restPort,
    int grpcPort,
    boolean insecure,
    PredictorOptions predictor,
    ServingLimits limits) {
  /** TensorFlow Serving's port of the REST API. */
  public static final int REST_PORT = 8501;

  /** TensorFlow Serving's port of the gRPC services. */
  public static final int GRPC_PORT = 8500;

  private static final int BATCH_ROWS = 64;

  public ModelServerOptions {
    if (models.isEmpty()) {
      throw MillraceException.invalid("There is no model to serve.");
    }
    if (keptVersions < 1) {
      throw MillraceException.invalid("At least one version must be kept, not %d.", keptVersions);
    }
    for (String name : models.keySet()) {
      if (!name.matches("[A-Za-z0-9][A-Za-z0-9._-]*")) {
        throw MillraceException.invalid(
            "'%s' cannot be the name of a model: it is a part of a path. Use letters, digits, dots,"
                + " - and _.",
            name);
      }
    }
  }

  /** These models on the usual ports of the loopback address. */
  public static ModelServerOptions of(Map<String, Path> models) {
    return new ModelServerOptions(
        models,
        Map.of(),
        1,
        Duration.ofSeconds(1),
        "127.0.0.1",
        REST_PORT,
        GRPC_PORT,
        false,
        PredictorOptions.DEFAULT.withBatches(BATCH_ROWS, Duration.ZERO),
        ServingLimits.DEFAULT);
  }

  /** Other ports; 0 for any free one, -1 for none. */
  public ModelServerOptions withPorts(int rest, int grpc) {
    return new ModelServerOptions(
        models, labels, keptVersions, pollEvery, host, rest, grpc, insecure, predictor, limits);
  }

  /** Other limits. */
  public ModelServerOptions withLimits(ServingLimits l) {
    return new ModelServerOptions(
        models, labels, keptVersions, pollEvery, host, restPort, grpcPort, insecure, predictor, l);
  }

  /** Looks for new versions that often. */
  public ModelServerOptions withPollEvery(Duration pause) {
    return new ModelServerOptions(
        models, labels, keptVersions, pause, host, restPort, grpcPort, insecure, predictor, limits);
  }
}
