package dev.millrace.interop;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * Which training graph Python is to make.
 *
 * @param ps how many parameter servers the variables are spread over; 0 for a graph without devices
 * @param worker the worker the graph is for, if there are parameter servers
 */
public record TrainingSpec(
    Model model, Optimizer optimizer, Variables variables, int batch, int ps, int worker) {
  /** What is trained: 10 classes, from 784 pixels or, for {@code EMBEDDING}, from 5 of 1000 ids. */
  public enum Model {
    SOFTMAX,
    MLP,
    CNN,
    EMBEDDING
  }

  /** How it is trained. */
  public enum Optimizer {
    SGD,
    MOMENTUM,
    NESTEROV,
    ADAGRAD,
    ADAM,
    RMSPROP,
    RMSPROP_CENTERED,
    FTRL,
    ADADELTA
  }

  /** What the variables are: references as in TensorFlow 1, or resources. */
  public enum Variables {
    REF,
    RESOURCE
  }

  /** A graph for one process. */
  public static TrainingSpec local(
      Model model, Optimizer optimizer, Variables variables, int batch) {
    return new TrainingSpec(model, optimizer, variables, batch, 0, 0);
  }

  /** The same graph for a worker of a cluster, its variables on the parameter servers. */
  public TrainingSpec onCluster(int ps, int worker) {
    return new TrainingSpec(model, optimizer, variables, batch, ps, worker);
  }

  /** The spec that {@link #toString} gives this text. */
  static TrainingSpec parse(String text) {
    Map<String, String> values = new HashMap<>();
    for (String pair : text.toUpperCase(Locale.ROOT).split(",")) {
      int equals = pair.indexOf('=');
      values.put(pair.substring(0, equals), pair.substring(equals + 1));
    }
    return new TrainingSpec(
        Model.valueOf(values.get("MODEL")),
        Optimizer.valueOf(values.get("OPTIMIZER")),
        Variables.valueOf(values.get("VARIABLES")),
        Integer.parseInt(values.get("BATCH")),
        Integer.parseInt(values.getOrDefault("PS", "0")),
        Integer.parseInt(values.getOrDefault("WORKER", "0")));
  }

  /** As the script takes it. */
  @Override
  public String toString() {
    String text =
        "model=%s,optimizer=%s,variables=%s,batch=%d".formatted(model, optimizer, variables, batch);
    return (ps == 0 ? text : text + ",ps=" + ps + ",worker=" + worker).toLowerCase(Locale.ROOT);
  }
}
