package dev.millrace.ops.collective;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.time.Duration;

/** How a node says which group it belongs to: by attributes, or by inputs from version 2 on. */
enum GroupAttributes {
  BY_ATTRIBUTES(""),
  BY_INPUTS("V2");

  /** Why collective ops have no gradients. */
  static final String AFTERWARDS =
      "gradients are reduced after they are computed, not through the reduction";

  private final String suffix;

  GroupAttributes(String suffix) {
    this.suffix = suffix;
  }

  /** The definition of {@code name} in this version, as far as all collective ops agree. */
  Op.Builder define(String name) {
    return Op.define(name + suffix)
        .stateful()
        .attr("communication_hint: string = 'auto'")
        .attr("timeout_seconds: float = 0")
        .noGradient(AFTERWARDS);
  }

  /** Adds the keys to the signature; in version 2 they come after the inputs defined so far. */
  Op.Builder keys(Op.Builder b) {
    return switch (this) {
      case BY_ATTRIBUTES ->
          b.attr("group_size: int").attr("group_key: int").attr("instance_key: int");
      case BY_INPUTS ->
          b.input("group_size: int32").input("group_key: int32").input("instance_key: int32");
    };
  }

  /** Adds what most ops of version 2 take and give nothing for; it is not needed here. */
  static Op.Builder ordered(Op.Builder b) {
    return b.attr("Nordering_token: int >= 0 = 0")
        .input("ordering_token: Nordering_token * resource")
        .attr("is_stateless: bool = false");
  }

  /** A node's part in this execution; {@code firstKey} is the input with the group's size. */
  CollectiveExecutor.Part part(KernelContext c, String what, int firstKey) {
    Node node = c.node();
    boolean byInputs = this == BY_INPUTS;
    int size = byInputs ? size(c, firstKey) : positive(node.intAttr("group_size"));
    return new CollectiveExecutor.Part(
        node.name() + ": " + what,
        node.device(),
        byInputs ? scalar(c, firstKey + 1, "group_key") : node.intAttr("group_key"),
        size,
        byInputs ? scalar(c, firstKey + 2, "instance_key") : node.intAttr("instance_key"),
        false,
        c.frameAndIteration(),
        timeout(node));
  }

  /** The time a node's part may take; zero if it has no limit of its own. */
  static Duration timeout(Node node) {
    return Duration.ofMillis((long) (node.floatAttr("timeout_seconds") * 1000));
  }

  /** The group's size, which is in input {@code i}. */
  static int size(KernelContext c, int i) {
    return positive(scalar(c, i, "group_size"));
  }

  private static int positive(int size) {
    if (size <= 0) {
      throw MillraceException.invalid("group_size must be positive integer but got %d", size);
    }
    return size;
  }

  static int scalar(KernelContext c, int i, String name) {
    Tensor t = c.input(i);
    if (!t.shape().equals(Shape.scalar())) {
      throw MillraceException.invalid("Unexpected dimensions on input %s, got %s", name, t.shape());
    }
    return t.intValue();
  }

  /** Does a node's part. A group of one has nothing to exchange. */
  static void run(
      KernelContext c, CollectiveExecutor.Part part, CollectiveExecutor.Work work, Tensor value) {
    if (part.groupSize() > 1) {
      c.rendezvous().collectives().run(part, work, value, c.cancellation());
    }
  }
}
