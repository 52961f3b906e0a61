package dev.millrace.graph;

import java.util.List;
import java.util.Map;

/**
 * A pattern of nodes that one kernel computes faster. Graphs are fused just before they run, so no
 * other task sees the fused ops.
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

  /** Lists the readers of a node's outputs. */
  @FunctionalInterface
  interface Readers {
    List<Node> of(Node node);
  }

  /**
   * The group that ends with {@code last}, or null if the pattern does not match. The caller checks
   * for other readers of the absorbed nodes.
   */
  Fused match(Node last, Readers readers);
}
