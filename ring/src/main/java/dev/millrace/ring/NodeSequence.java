package dev.millrace.ring;

import dev.millrace.base.MillraceException;
import dev.millrace.collective.ReductionSequence;
import dev.millrace.collective.Ring;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.graph.Node;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The nodes of a graph whose inputs are reduced as one {@link ReductionSequence}. They report when
 * they are prepared to run, which all are before the first does.
 *
 * <p>Threading: any thread.
 */
final class NodeSequence {
  private final Ring ring;
  private final String name;
  private final Map<Integer, String> names = new TreeMap<>();
  private final Map<Integer, Shape> shapes = new TreeMap<>();
  private DType dtype;
  private ReduceOp op;
  private int count;
  private volatile ReductionSequence sequence;

  NodeSequence(Ring ring, String name) {
    this.ring = ring;
    this.name = name;
  }

  /** Takes a node in; one that is known already, prepared for another run, changes nothing. */
  synchronized void add(Node node, ReduceOp reduction) {
    int index = node.intAttr("index");
    names.put(index, node.name());
    shapes.put(index, node.input(0).shape());
    dtype = node.input(0).dtype();
    op = reduction;
    count = node.intAttr("count");
  }

  ReductionSequence get() {
    ReductionSequence s = sequence;
    return s != null ? s : make();
  }

  /** Memory in which an input is best made, or null; see {@link ReductionSequence#room}. */
  Tensor room(Shape shape) {
    ReductionSequence s = sequence;
    return s == null ? null : s.room(shape);
  }

  private synchronized ReductionSequence make() {
    if (names.size() != count) {
      throw MillraceException.failedPrecondition(
          "Only %d of the %d gradients that are reduced together are part of this step. Run the"
              + " train node itself, or use computeGradients to reduce them one by one.",
          names.size(), count);
    }
    if (sequence == null) {
      sequence =
          ring.sequence(name, List.copyOf(names.values()), dtype, List.copyOf(shapes.values()), op);
    }
    return sequence;
  }
}
