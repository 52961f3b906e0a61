package dev.millrace.ops.queue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.state.HandleKind;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/** The ops that stand for a queue and give its handle. */
public final class QueueHandles {
  /** A kind of queue: its op's name, and what its signature and its order have of their own. */
  private enum Flavor {
    FIFO("FIFOQueue", node -> new QueueOrder.Fifo()),
    PADDING("PaddingFIFOQueue", node -> new QueueOrder.Fifo()),
    RANDOM("RandomShuffleQueue", QueueHandles::shuffled),
    PRIORITY("PriorityQueue", node -> new QueueOrder.ByPriority());

    final String label;
    final Function<Node, QueueOrder> order;

    Flavor(String label, Function<Node, QueueOrder> order) {
      this.label = label;
      this.order = order;
    }
  }

  static final List<Op> ALL =
      Arrays.stream(Flavor.values())
          .flatMap(
              f ->
                  Stream.of(
                      define(f, f.label, HandleKind.REFERENCE),
                      define(f, f.label + "V2", HandleKind.RESOURCE)))
          .toList();

  private QueueHandles() {}

  /** Adds a first-in first-out queue; capacity -1 is unbounded. Gives its handle. */
  public static Output fifo(Scope scope, List<DType> types, List<Shape> shapes, int capacity) {
    return scope
        .node("FIFOQueueV2")
        .attr("component_types", types)
        .attr("shapes", shapes)
        .attr("capacity", capacity)
        .add()
        .output();
  }

  private static Op define(Flavor flavor, String name, HandleKind kind) {
    Op.Builder op = Op.define(name);
    if (flavor == Flavor.PRIORITY) {
      op.attr("component_types: list(type) >= 0 = []").attr("shapes: list(shape) >= 0");
    } else {
      op.attr("component_types: list(type) >= 1").attr("shapes: list(shape) >= 0 = []");
    }
    op.attr("capacity: int = -1");
    if (flavor == Flavor.RANDOM) {
      op.attr("min_after_dequeue: int = 0").attr("seed: int = 0").attr("seed2: int = 0");
    }
    return op.attr("container: string = ''")
        .attr("shared_name: string = ''")
        .output("handle: " + kind.type)
        .stateful()
        .shape(c -> List.of(kind == HandleKind.REFERENCE ? Shape.of(2) : Shape.scalar()))
        .kernelPerNode(node -> kernel(node, flavor, kind))
        .noGradient("a handle is not a number")
        .build();
  }

  private static Kernel kernel(Node node, Flavor flavor, HandleKind kind) {
    QueueSpec spec = spec(node);
    for (Shape s : spec.shapes()) {
      boolean ok = flavor == Flavor.PADDING ? s.hasRank() : s.isKnown();
      if (!ok) {
        throw MillraceException.invalid(
            "%s '%s': component shapes must be fully known, but one is %s. PaddingFIFOQueue takes"
                + " shapes of known rank.",
            flavor.label, spec.name(), s);
      }
    }
    if (flavor == Flavor.PADDING && spec.shapes().isEmpty()) {
      throw MillraceException.invalid(
          "%s '%s' needs a shape for each component.", flavor.label, spec.name());
    }
    String container = node.stringAttr("container");
    Consumer<KernelContext> handle = kind.maker(node, flavor.label);
    // Made once for nothing, so that it complains of attributes now rather than in a step.
    var _ = flavor.order.apply(node);
    return c -> {
      Queue q =
          c.resources()
              .getOrCreate(
                  container,
                  spec.name(),
                  Queue.class,
                  () -> new Queue(spec, flavor.order.apply(node)));
      q.spec().checkSame(spec);
      handle.accept(c);
    };
  }

  /** What the queue of a node holds; null if the node stands for none. */
  static QueueSpec specOf(Node node) {
    return ALL.contains(node.op()) ? spec(node) : null;
  }

  private static QueueSpec spec(Node node) {
    List<DType> types = node.typesAttr("component_types");
    List<Shape> shapes = node.shapesAttr("shapes");
    String kind = node.op().name().replace("V2", "");
    if (kind.equals(Flavor.PRIORITY.label)) {
      // The priority is the first component, though it is not declared.
      types = withFirst(DType.INT64, types);
      shapes = withFirst(Shape.scalar(), shapes);
    }
    return QueueSpec.of(
        kind, ResourceHandles.nameOf(node), types, shapes, node.longAttr("capacity"));
  }

  private static <T> List<T> withFirst(T first, List<T> rest) {
    List<T> all = new ArrayList<>();
    all.add(first);
    all.addAll(rest);
    return List.copyOf(all);
  }

  private static QueueOrder shuffled(Node node) {
    long keptBack = node.longAttr("min_after_dequeue");
    long capacity = node.longAttr("capacity");
    if (keptBack < 0 || (capacity >= 0 && keptBack >= capacity)) {
      throw MillraceException.invalid(
          "RandomShuffleQueue '%s': min_after_dequeue is %d; it must be at least 0 and less than"
              + " the capacity %d.",
          node.name(), keptBack, capacity);
    }
    long seed = node.longAttr("seed");
    long seed2 = node.longAttr("seed2");
    SplittableRandom random =
        seed == 0 && seed2 == 0
            ? new SplittableRandom()
            : new SplittableRandom(seed * 0x9E3779B97F4A7C15L + seed2);
    return new QueueOrder.Shuffled((int) Math.min(keptBack, Integer.MAX_VALUE), random);
  }
}
