package dev.millrace.interop.bench;

import dev.millrace.interop.TrainingGraph;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/** The batch that a contender trains on. */
public final class TrainingBatch {
  /** The argument that asks for random noise instead of images of MNIST. */
  public static final String NOISE = "noise";

  private TrainingBatch() {}

  /**
   * The tensors to feed. Arguments: the file of a training graph, the number of threads, and
   * optionally {@link #NOISE}.
   */
  static Map<String, Tensor> of(TrainingGraph graph, List<String> arguments) {
    return arguments.contains(NOISE) ? graph.noise(1) : graph.batch(1);
  }
}
