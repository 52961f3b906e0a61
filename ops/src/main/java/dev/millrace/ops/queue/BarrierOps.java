package dev.millrace.ops.queue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.state.HandleKind;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.tensor.Shape;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

/** The ops of barriers and mutexes, which are loaded on demand. */
public final class BarrierOps {
  private static final String WHY = "what a barrier holds comes from another step";

  public static final List<Op> ALL =
      Stream.concat(
              Mutex.OPS.stream(),
              Stream.of(
                  handle(),
                  insert(),
                  take(),
                  Op.define("BarrierClose")
                      .attr("cancel_pending_enqueues: bool = false")
                      .input("handle: Ref(string)")
                      .shape(Shapes.none())
                      .kernel(
                          c -> barrier(c).close(c.node().booleanAttr("cancel_pending_enqueues")))
                      .noGradient(WHY)
                      .build(),
                  size("BarrierReadySize", Barrier::readySize),
                  size("BarrierIncompleteSize", Barrier::incompleteSize)))
          .toList();

  private BarrierOps() {}

  private static Barrier barrier(KernelContext c) {
    return HandleKind.REFERENCE.resource(c, Barrier.class);
  }

  private static Op handle() {
    return Op.define("Barrier")
        .attr("component_types: list(type) >= 1")
        .attr("shapes: list(shape) >= 0 = []")
        .attr("capacity: int = -1")
        .attr("container: string = ''")
        .attr("shared_name: string = ''")
        .output("handle: Ref(string)")
        .stateful()
        .shape(c -> List.of(Shape.of(2)))
        .kernelPerNode(BarrierOps::maker)
        .noGradient("a handle is not a number")
        .build();
  }

  private static Kernel maker(Node node) {
    if (node.longAttr("capacity") != -1) {
      throw MillraceException.invalid(
          "Barrier only accepts capacity=-1.  Feed the inputs to your"
              + " Barrier through a queue to enforce a limited capacity.");
    }
    QueueSpec spec =
        QueueSpec.of(
            "Barrier",
            ResourceHandles.nameOf(node),
            node.typesAttr("component_types"),
            node.shapesAttr("shapes"),
            -1);
    if (spec.shapes().isEmpty()) {
      throw MillraceException.invalid("All of the component shapes must be specified");
    }
    for (Shape s : spec.shapes()) {
      if (!s.isKnown()) {
        throw MillraceException.invalid("All of the component shapes must be specified: %s", s);
      }
      if (s.elements() == 0) {
        throw MillraceException.invalid(
            "Empty tensors are not supported, but received shape '%s'", s);
      }
    }
    String container = node.stringAttr("container");
    Consumer<KernelContext> handle = HandleKind.REFERENCE.maker(node, "Barrier");
    return c -> {
      Barrier b =
          c.resources().getOrCreate(container, spec.name(), Barrier.class, () -> new Barrier(spec));
      b.spec().checkSame(spec);
      handle.accept(c);
    };
  }

  private static Op insert() {
    return Op.define("BarrierInsertMany")
        .attr("T: type")
        .attr("component_index: int")
        .input("handle: Ref(string)")
        .input("keys: string")
        .input("values: T")
        .shape(
            c -> {
              c.inputOfRank(1, 1);
              return List.of();
            })
        .kernelPerNode(
            node -> {
              int component = node.intAttr("component_index");
              return c -> barrier(c).insert(c.input(1), component, c.input(2));
            })
        .noGradient(WHY)
        .build();
  }

  private static Op take() {
    return Op.define("BarrierTakeMany")
        .attr("component_types: list(type) >= 1")
        .attr("allow_small_batch: bool = false")
        .attr("wait_for_incomplete: bool = false")
        .attr("timeout_ms: int = -1")
        .input("handle: Ref(string)")
        .input("num_elements: int32")
        .output("indices: int64")
        .output("keys: string")
        .output("values: component_types")
        .shape(Shapes.unknown())
        .asyncKernel(
            node -> {
              boolean orFewer = node.booleanAttr("allow_small_batch");
              boolean waits = node.booleanAttr("wait_for_incomplete");
              if (node.longAttr("timeout_ms") != -1) {
                throw MillraceException.invalid("Timeout not supported yet.");
              }
              return (c, done) -> {
                Barrier b = barrier(c);
                b.spec().checkTypes(node.typesAttr("component_types"));
                long n = Axis.single(c.input(1), "num_elements");
                if (n < 0 || n > Integer.MAX_VALUE) {
                  throw MillraceException.invalid(
                      "num_elements is %d; it must not be negative.", n);
                }
                b.take(c, (int) n, orFewer, waits, done);
              };
            })
        .noGradient(WHY)
        .build();
  }

  private static Op size(String name, ToIntFunction<Barrier> size) {
    return Op.define(name)
        .input("handle: Ref(string)")
        .output("size: int32")
        .shape(Shapes.scalar())
        .kernel(c -> c.allocate(0, Shape.scalar()).setLong(0, size.applyAsInt(barrier(c))))
        .noGradient(WHY)
        .build();
  }
}
