package dev.millrace.serving.served;

import dev.millrace.base.Closest;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.proto.SignatureDef;
import dev.millrace.serving.Predictor;
import dev.millrace.serving.PredictorOptions;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The models of a server, which are asked the same over HTTP and gRPC: it chooses the version,
 * limits how many requests run at once, and counts them. A thread looks for new versions.
 *
 * <p>Threading: any thread.
 */
public final class ServedModels implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ServedModels.class);

  /** A request's view of the version that answers it. */
  public record Target(long version, String name, Predictor predictor) {
    /** The signature that is asked. */
    public ModelSignature signature() {
      return predictor.signature(name);
    }
  }

  private final Map<String, ServedModel> models = new TreeMap<>();
  private final ServingMetrics metrics = new ServingMetrics();
  private final AtomicInteger inFlight = new AtomicInteger();
  private final int mostInFlight;
  private final Timers timers;
  private final Timers.Schedule watcher;
  private volatile boolean draining;

  /**
   * Loads the models; fails if none of the versions of one can be loaded.
   *
   * @param folders the folder of each model, by its name
   * @param labels the version of each label, by the name of the model
   * @param kept how many of the newest versions of a model are served
   * @param poll how often to look for new versions
   */
  public ServedModels(
      Map<String, Path> folders,
      Map<String, Map<String, Long>> labels,
      int kept,
      Duration poll,
      PredictorOptions options,
      ServingLimits limits) {
    timers = options.timers();
    mostInFlight = limits.requests();
    folders.forEach(
        (name, folder) ->
            models.put(
                name,
                new ServedModel(name, folder, kept, labels.getOrDefault(name, Map.of()), options)));
    try {
      for (ServedModel m : models.values()) {
        m.poll();
        if (!m.isReady()) {
          m.acquire(new ModelChoice(m.name(), -1, "", ""));
        }
      }
    } catch (RuntimeException e) {
      models.values().forEach(ServedModel::close);
      throw e;
    }
    watcher = timers.schedule("millrace-versions");
    watcher.every(poll.toNanos(), this::poll);
  }

  private void poll() {
    for (ServedModel m : models.values()) {
      try {
        m.poll();
      } catch (RuntimeException e) {
        LOG.warn("Model '{}' cannot be looked after: {}", m.name(), e.getMessage());
      }
    }
  }

  /**
   * Answers a request by {@code work}, which has the version for as long as it runs.
   *
   * @param method what is asked, for the metrics
   * @param api how it was asked, for the metrics
   */
  public <T> T answer(ModelChoice choice, String method, String api, Function<Target, T> work) {
    long start = timers.now();
    ServedModel model = models.get(choice.model());
    Code code = Code.OK;
    try {
      if (inFlight.incrementAndGet() > mostInFlight) {
        metrics.refused();
        throw new MillraceException(
            Code.UNAVAILABLE,
            "The server is answering "
                + mostInFlight
                + " requests and takes no more (--max-requests). Try again later.");
      }
      if (model == null) {
        throw absent(choice.model());
      }
      ModelVersion v = model.acquire(choice);
      try {
        return work.apply(new Target(v.number(), choice.signature(), v.predictor()));
      } finally {
        v.release();
      }
    } catch (RuntimeException | Error e) {
      MillraceException m = MillraceException.of(e);
      code = m.code();
      if (code == Code.INTERNAL) {
        LOG.warn("A request to model '{}' failed.", choice.model(), e);
      }
      throw m;
    } finally {
      inFlight.decrementAndGet();
      metrics.answered(model == null ? "" : choice.model(), method, api, code, timers.since(start));
    }
  }

  /** The outputs of a signature; closes the inputs. */
  public static Tensor[] predict(
      Target target, ModelSignature signature, Map<String, Tensor> inputs) {
    try {
      return target.predictor().run(signature, signature.arguments(inputs));
    } finally {
      inputs.values().forEach(Tensor::close);
    }
  }

  private MillraceException absent(String name) {
    return new MillraceException(
        Code.NOT_FOUND,
        "There is no model '"
            + name
            + "' here; there is "
            + models.keySet()
            + "."
            + Closest.hint(name, models.keySet()));
  }

  /** How the versions of a model are, newest first; of one version if {@code choice} names it. */
  public List<VersionStatus> status(ModelChoice choice) {
    ServedModel m = models.get(choice.model());
    if (m == null) {
      throw absent(choice.model());
    }
    List<VersionStatus> all = m.status();
    if (choice.version() >= 0 || !choice.label().isEmpty()) {
      long version = choice.version();
      if (!choice.label().isEmpty()) {
        ModelVersion v = m.acquire(choice);
        version = v.number();
        v.release();
      }
      long wanted = version;
      all = all.stream().filter(s -> s.version() == wanted).toList();
      if (all.isEmpty()) {
        throw new MillraceException(
            Code.NOT_FOUND, "Model '" + m.name() + "' has no version " + wanted + ".");
      }
    }
    return all;
  }

  /** The signatures of a version as its file has them, and its number. */
  public Map.Entry<Long, Map<String, SignatureDef>> metadata(ModelChoice choice, String api) {
    return answer(
        choice, "metadata", api, t -> Map.entry(t.version(), t.predictor().model().definitions()));
  }

  /** The names of the models. */
  public List<String> names() {
    return List.copyOf(models.keySet());
  }

  /** Whether requests are taken: every model has a version, and the server does not stop. */
  public boolean isReady() {
    return !draining && models.values().stream().allMatch(ServedModel::isReady);
  }

  /** Says from now on that the server takes no more requests. */
  public void drain() {
    draining = true;
  }

  /** How many requests are being answered. */
  public int inFlight() {
    return inFlight.get();
  }

  /** The counts. */
  public ServingMetrics metrics() {
    return metrics;
  }

  /** The counts in Prometheus' text format. */
  public String metricsText() {
    Map<String, Long> newest = new HashMap<>();
    models.forEach(
        (name, m) ->
            m.status().stream()
                .filter(s -> s.state() == VersionStatus.State.AVAILABLE)
                .findFirst()
                .ifPresent(s -> newest.put(name, s.version())));
    return metrics.text(inFlight.get(), new TreeMap<>(newest));
  }

  @Override
  public void close() {
    watcher.close();
    models.values().forEach(ServedModel::close);
  }
}
