package dev.millrace.serving.server;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.serving.grpc.GrpcPort;
import dev.millrace.serving.rest.RestPort;
import dev.millrace.serving.served.ServedModels;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves models as TensorFlow Serving does: the same REST API and gRPC services, on the same ports.
 *
 * <p>Threading: any thread.
 */
public final class ModelServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ModelServer.class);
  private static final long WARN_NANOS = Duration.ofHours(1).toNanos();
  private static final long DRAIN_PAUSE_NANOS = 20_000_000L;

  private final ServedModels models;
  private final RestPort rest;
  private final GrpcPort grpc;
  private final Timers timers;
  private Timers.Schedule warnings;

  private ModelServer(ModelServerOptions o) {
    timers = o.predictor().timers();
    InetAddress host = address(o);
    models =
        new ServedModels(
            o.models(), o.labels(), o.keptVersions(), o.pollEvery(), o.predictor(), o.limits());
    Platform platform = Context.current().platform();
    Executor threads = r -> platform.newVirtualThread("millrace-predict", r).start();
    RestPort openRest = null;
    try {
      openRest =
          o.restPort() < 0
              ? null
              : RestPort.open(
                  new InetSocketAddress(host, o.restPort()), models, o.limits(), threads);
      grpc =
          o.grpcPort() < 0
              ? null
              : GrpcPort.open(
                  new InetSocketAddress(host, o.grpcPort()), models, o.limits(), threads);
    } catch (RuntimeException e) {
      if (openRest != null) {
        openRest.close();
      }
      models.close();
      throw e;
    }
    rest = openRest;
    if (!host.isLoopbackAddress()) {
      warnings = timers.schedule("millrace-serve-warning");
      warn(o.host());
      warnings.every(WARN_NANOS, () -> warn(o.host()));
    }
  }

  /** Loads the models and opens the ports. Fails if a model has no version that can be used. */
  public static ModelServer start(ModelServerOptions options) {
    return new ModelServer(options);
  }

  private static InetAddress address(ModelServerOptions o) {
    try {
      InetAddress a = InetAddress.getByName(o.host());
      if (!a.isLoopbackAddress() && !o.insecure()) {
        throw new MillraceException(
            Code.FAILED_PRECONDITION,
            "The address "
                + o.host()
                + " can be reached from other machines, and the server has no passwords and no"
                + " encryption: everybody who reaches it can ask the models. Serve on 127.0.0.1"
                + " behind a proxy that has them, or add --insecure.");
      }
      return a;
    } catch (UnknownHostException e) {
      throw new MillraceException(
          Code.INVALID_ARGUMENT, "The address " + o.host() + " is not known here.", e);
    }
  }

  private static void warn(String host) {
    LOG.warn(
        "Models are served on {} without passwords and encryption (--insecure): everybody who"
            + " reaches this machine can ask them.",
        host);
  }

  /** The port of the REST API; -1 if there is none. */
  public int restPort() {
    return rest == null ? -1 : rest.port();
  }

  /** The port of the gRPC services; -1 if there is none. */
  public int grpcPort() {
    return grpc == null ? -1 : grpc.port();
  }

  /** The models. */
  public ServedModels models() {
    return models;
  }

  /**
   * Stops: says that it is not ready, takes no more connections, waits for the requests being
   * answered, at most for {@code grace}, then closes. Returns whether all of them were answered.
   */
  public boolean stop(Duration grace) {
    models.drain();
    if (rest != null) {
      rest.stopAccepting();
    }
    if (grpc != null) {
      grpc.stopAccepting();
    }
    long end = timers.now() + grace.toNanos();
    boolean all = models.inFlight() == 0;
    try {
      while (!all && timers.now() - end < 0) {
        timers.sleep(DRAIN_PAUSE_NANOS);
        all = models.inFlight() == 0;
      }
      // The last answers are on their way.
      timers.sleep(DRAIN_PAUSE_NANOS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    close();
    return all;
  }

  @Override
  public void close() {
    if (warnings != null) {
      warnings.close();
    }
    if (rest != null) {
      rest.close();
    }
    if (grpc != null) {
      grpc.close();
    }
    models.close();
  }
}
