package dev.millrace.job;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.tensor.Tensor;
import java.util.Map;

/**
 * What to say when the loss is NaN or infinite: whether the batch has a NaN or an infinity in it.
 */
final class NotANumber {
  private NotANumber() {}

  /** The failure of a step whose loss is {@code loss}. */
  static MillraceException failure(
      double loss, ModelGraph graph, Map<Output, Tensor> fed, int worker, long[] position) {
    for (int i = 0; i < graph.inputs().size(); i++) {
      Tensor t = fed.get(graph.inputs().get(i));
      if (t == null || !t.dtype().isFloating()) {
        continue;
      }
      long perExample = t.elements() / Math.max(1, t.shape().dim(0));
      for (long j = 0; j < t.elements(); j++) {
        if (!Double.isFinite(t.doubleAt(j))) {
          return MillraceException.failedPrecondition(
              "The loss is %s because of the input: tensor %d of example %d of the batch of worker"
                  + " %d has %s at place %d (the batch ends at its example %d of part %d of epoch"
                  + " %d). Clean the data; the last checkpoint is from before.",
              loss,
              i,
              j / perExample,
              worker,
              t.doubleAt(j),
              j % perExample,
              position[2],
              position[1],
              position[0]);
        }
      }
    }
    return MillraceException.failedPrecondition(
        "The loss '%s' is %s at worker %d, and all of its input are numbers. Use a smaller"
            + " --learning-rate or clip the gradients; the last checkpoint is from before.",
        graph.model().loss().name(), loss, worker);
  }
}
