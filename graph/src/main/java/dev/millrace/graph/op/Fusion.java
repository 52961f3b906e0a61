package dev.millrace.graph.op;

import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import java.util.List;
import java.util.Map;

/**
 * A pattern of nodes whose work one kernel does faster. Graphs are fused just before they are run,
 * so that nobody else, another task above all, ever sees the ops this makes.
 */
@FunctionalInterface
public interface Fusion {
  /**
   * What stands for a group of nodes.
   *
   * @param op need not be in any registry; its outputs take the place of the last node's, and after
   *     those of the exposed ones
   * @param absorbed the nodes of the group but the last
   * @param exposed what those outside may read of the absorbed nodes; of the others' values nobody
   *     may
   */
  record Fused(
      Op op,
      Map<String, AttrValue> attrs,
      List<Output> inputs,
      List<Node> absorbed,
      List<Output> exposed) {
    /** A group of which only the last node's outputs are read. */
    public Fused(Op op, Map<String, AttrValue> attrs, List<Output> inputs, List<Node> absorbed) {
      this(op, attrs, inputs, absorbed, List.of());
    }
  }

  /** Tells who reads the outputs of a node. */
  @FunctionalInterface
  interface Readers {
    List<Node> of(Node node);
  }

  /**
   * The group that ends with {@code last}, or null if it is not the end of this pattern. Who else
   * reads the absorbed nodes is checked by the caller.
   */
  Fused match(Node last, Readers readers);
}
