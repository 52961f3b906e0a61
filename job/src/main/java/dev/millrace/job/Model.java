package dev.millrace.job;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a program says of its model: the loss to minimise, the metrics to report and the predictions
 * that hooks find by name.
 *
 * <p>Threading: immutable.
 */
public final class Model {
  private final Output loss;
  private final List<ModelMetric> metrics;
  private final Map<String, Output> predictions;
  private final Map<String, Output> servedInputs;

  private Model(
      Output loss,
      List<ModelMetric> metrics,
      Map<String, Output> predictions,
      Map<String, Output> servedInputs) {
    this.loss = loss;
    this.metrics = List.copyOf(metrics);
    this.predictions = predictions;
    this.servedInputs = servedInputs;
  }

  /** A model that is trained to make {@code loss}, the mean over a batch, small. */
  public static Model minimizing(Output loss) {
    if (loss.shape().hasRank() && loss.shape().rank() != 0) {
      throw MillraceException.invalid(
          "The loss '%s' has shape %s; it must be one number, such as the mean over the batch.",
          loss.name(), loss.shape());
    }
    return new Model(loss, List.of(ModelMetric.mean("loss", loss)), Map.of(), Map.of());
  }

  /** The same with a metric whose value over a batch is a mean. */
  public Model metric(String name, Output value) {
    return metric(ModelMetric.mean(name, value));
  }

  /** The same with a metric. */
  public Model metric(ModelMetric metric) {
    if (metrics.stream().anyMatch(m -> m.name().equals(metric.name()))) {
      throw MillraceException.invalid("The model has two metrics '%s'.", metric.name());
    }
    List<ModelMetric> more = new ArrayList<>(metrics);
    more.add(metric);
    return new Model(loss, more, predictions, servedInputs);
  }

  /** The same with an output of the model, which hooks find by this name. */
  public Model prediction(String name, Output value) {
    Map<String, Output> more = new LinkedHashMap<>(predictions);
    more.put(name, value);
    return new Model(loss, metrics, more, servedInputs);
  }

  /**
   * The same with a name for an input, by which callers of the exported model give it. Without
   * names, input 3 of the data is {@code input_3}.
   */
  public Model servedInput(String name, Output input) {
    Map<String, Output> more = new LinkedHashMap<>(servedInputs);
    more.put(name, input);
    return new Model(loss, metrics, predictions, more);
  }

  /** What is minimised. */
  public Output loss() {
    return loss;
  }

  /** What is reported, the loss first. */
  public List<ModelMetric> metrics() {
    return metrics;
  }

  /** The inputs that have a name in the exported model. */
  public Map<String, Output> servedInputs() {
    return Map.copyOf(servedInputs);
  }

  /** What it predicts, by name. */
  public Map<String, Output> predictions() {
    return Map.copyOf(predictions);
  }
}
