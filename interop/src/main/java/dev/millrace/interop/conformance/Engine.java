package dev.millrace.interop.conformance;

import dev.millrace.proto.GraphDef;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/**
 * Something that runs TensorFlow graphs. Failures are MillraceExceptions with TensorFlow's code.
 */
public interface Engine {
  /** Takes in a graph. Throws where the engine refuses it. */
  Loaded load(GraphDef graph);

  /** A graph an engine has taken in, with state of its own. */
  interface Loaded extends AutoCloseable {
    /** Runs one step; the fetches, {@code node:index}, in their order. */
    List<Tensor> run(Map<String, Tensor> feeds, List<String> fetches, List<String> targets);

    /** What is known of an output's shape without running. */
    Shape inferredShape(String output);

    /**
     * Adds the gradients of the sum of {@code ys} by {@code xs} to the graph. From each x to the
     * output that is its gradient; missing where no gradient flows.
     */
    Map<String, String> addGradients(List<String> ys, List<String> xs);

    @Override
    void close();
  }
}
