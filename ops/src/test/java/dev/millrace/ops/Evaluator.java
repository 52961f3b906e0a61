package dev.millrace.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Eager;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.HashMap;
import java.util.Map;

/**
 * Computes outputs of small stateless graphs in tests, one node after the other. Every value is
 * checked against the type and shape the graph promised for it.
 */
public final class Evaluator {
  private final Map<Output, Tensor> fed;
  private final Map<Node, Tensor[]> done = new HashMap<>();

  private Evaluator(Map<Output, Tensor> fed) {
    this.fed = fed;
  }

  /** The value of {@code out}. */
  public static Tensor run(Output out) {
    return run(out, Map.of());
  }

  /** The value of {@code out} with some outputs given. */
  public static Tensor run(Output out, Map<Output, Tensor> feeds) {
    return new Evaluator(feeds).of(out);
  }

  private Tensor of(Output out) {
    Tensor given = fed.get(out);
    if (given != null) {
      return given;
    }
    Tensor[] values = done.get(out.node());
    if (values == null) {
      Node n = out.node();
      Tensor[] in = n.inputs().stream().map(this::of).toArray(Tensor[]::new);
      values = Eager.run(n, in);
      for (int i = 0; i < values.length; i++) {
        values[i] = Refs.handle(values[i]);
        assertEquals(n.output(i).dtype(), values[i].dtype(), n.toString());
        assertTrue(
            n.output(i).shape().isCompatibleWith(values[i].shape()),
            () -> n + " promised " + n.outputs() + " and made " + done);
      }
      done.put(n, values);
    }
    return values[out.index()];
  }
}
