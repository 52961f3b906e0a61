package dev.millrace.serving;

import dev.millrace.base.Preconditions;
import dev.millrace.runtime.Session;
import dev.millrace.serving.batch.BatchQueue;
import dev.millrace.serving.batch.RowTensors;
import dev.millrace.serving.model.LoadedModel;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Predicts with a SavedModel that Millrace or TensorFlow has written. A call needs no session and
 * no names of nodes: inputs and outputs have the names of the model's signature.
 *
 * <p>Threading: any number of calls at once, from any threads. A call runs on the calling thread.
 */
public final class Predictor implements AutoCloseable {
  private final LoadedModel model;
  private final Map<String, Session.Callable> calls = new HashMap<>();
  private final ModelSignature usual;
  private final Session.Callable usualCall;

  private Predictor(LoadedModel model, PredictorOptions options) {
    this.model = model;
    for (ModelSignature s : model.signatures().values()) {
      Session.Callable call = model.call(s);
      calls.put(
          s.name(), options.batchRows() > 1 ? BatchQueue.over(call, s, options.batching()) : call);
    }
    boolean hasUsual =
        model.signatures().size() == 1 || model.signatures().containsKey(ModelSignature.SERVING);
    usual = hasUsual ? model.signature("") : null;
    usualCall = usual == null ? null : calls.get(usual.name());
  }

  /** Loads the SavedModel in {@code folder}. */
  public static Predictor load(Path folder) {
    return load(folder, PredictorOptions.DEFAULT);
  }

  /** Loads the SavedModel in {@code folder}. */
  public static Predictor load(Path folder, PredictorOptions options) {
    Preconditions.value(folder, "The folder of the model");
    return new Predictor(LoadedModel.load(folder, options.tags(), options.registry()), options);
  }

  /** What the model can be asked for, by name. */
  public Map<String, ModelSignature> signatures() {
    return model.signatures();
  }

  /** The signature of this name; empty for the default one. */
  public ModelSignature signature(String name) {
    return name.isEmpty() && usual != null ? usual : model.signature(name);
  }

  /** The model behind it. */
  public LoadedModel model() {
    return model;
  }

  /** The outputs of the default signature for these inputs, which are borrowed. */
  public Prediction predict(Map<String, Tensor> inputs) {
    return predict("", inputs);
  }

  /** The outputs of a signature for these inputs, which are borrowed. */
  public Prediction predict(String signature, Map<String, Tensor> inputs) {
    ModelSignature s = signature(signature);
    return new Prediction(s, run(s, s.arguments(inputs)));
  }

  /**
   * The outputs of the default signature for one row: each value is a number, a boolean, a string,
   * bytes of a string, or an array or list of those.
   */
  public Prediction predictRow(Map<String, ?> row) {
    return predictRows("", List.of(row));
  }

  /** The outputs of a signature for rows of such values; the first dimension counts the rows. */
  public Prediction predictRows(String signature, List<? extends Map<String, ?>> rows) {
    ModelSignature s = signature(signature);
    Map<String, Tensor> inputs = RowTensors.of(s, rows);
    try {
      return new Prediction(s, run(s, s.arguments(inputs)));
    } finally {
      inputs.values().forEach(Tensor::close);
    }
  }

  /**
   * The outputs of a signature in the order of {@link ModelSignature#outputs} for inputs in the
   * order of {@link ModelSignature#inputs}: the fastest way, which looks up no names. The inputs
   * are borrowed; the outputs are the caller's.
   */
  public Tensor[] run(ModelSignature signature, Tensor... inputs) {
    Session.Callable call = signature == usual ? usualCall : calls.get(signature.name());
    return call.run(inputs);
  }

  /** Ends calls under way with CANCELLED and gives back the model's memory. */
  @Override
  public void close() {
    model.close();
  }
}
