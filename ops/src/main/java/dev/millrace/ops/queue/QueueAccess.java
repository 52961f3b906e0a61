package dev.millrace.ops.queue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.AsyncKernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.state.HandleKind;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;

/** The ops that put elements into a queue, take them out, and close it. */
public final class QueueAccess {
  private enum Taking {
    ONE,
    MANY,
    UP_TO
  }

  static final List<Op> ALL =
      Stream.of(HandleKind.values())
          .flatMap(
              kind ->
                  Stream.of(
                      enqueue(kind, "QueueEnqueue", false),
                      enqueue(kind, "QueueEnqueueMany", true),
                      dequeue(kind, "QueueDequeue", Taking.ONE),
                      dequeue(kind, "QueueDequeueMany", Taking.MANY),
                      dequeue(kind, "QueueDequeueUpTo", Taking.UP_TO),
                      size(kind),
                      isClosed(kind),
                      close(kind)))
          .toList();

  private QueueAccess() {}

  /** Adds a node that enqueues one element. */
  public static Node enqueue(Scope scope, Output handle, List<Output> element) {
    return scope.node(name(handle, "QueueEnqueue")).input(handle).inputs(element).add();
  }

  /** Adds a node that enqueues many elements, stacked. */
  public static Node enqueueMany(Scope scope, Output handle, List<Output> elements) {
    return scope.node(name(handle, "QueueEnqueueMany")).input(handle).inputs(elements).add();
  }

  /** Adds a node whose outputs are the components of one element. */
  public static Node dequeue(Scope scope, Output handle, List<DType> types) {
    return scope
        .node(name(handle, "QueueDequeue"))
        .input(handle)
        .attr("component_types", types)
        .add();
  }

  /** Adds a node whose outputs are the components of {@code n} elements, stacked. */
  public static Node dequeueMany(Scope scope, Output handle, Output n, List<DType> types) {
    return scope
        .node(name(handle, "QueueDequeueMany"))
        .input(handle)
        .input(n)
        .attr("component_types", types)
        .add();
  }

  /** Adds a node that says how many elements there are. */
  public static Output size(Scope scope, Output handle) {
    return scope.node(name(handle, "QueueSize")).input(handle).add().output();
  }

  /** Adds a node that closes the queue. */
  public static Node close(Scope scope, Output handle, boolean cancelPending) {
    return scope
        .node(name(handle, "QueueClose"))
        .input(handle)
        .attr("cancel_pending_enqueues", cancelPending)
        .add();
  }

  private static String name(Output handle, String op) {
    return handle.isRef() ? op : op + "V2";
  }

  private static Op.Builder define(HandleKind kind, String name) {
    return kind.using(Op.define(kind == HandleKind.RESOURCE ? name + "V2" : name))
        .input("handle: " + kind.type)
        .noGradient("what passes a queue comes from another step");
  }

  private static Op enqueue(HandleKind kind, String name, boolean many) {
    return define(kind, name)
        .attr("Tcomponents: list(type) >= 1")
        .attr("timeout_ms: int = -1")
        .input("components: Tcomponents")
        .shape(Shapes.none())
        .asyncKernel(node -> enqueuer(node, kind, many))
        .build();
  }

  private static AsyncKernel enqueuer(Node node, HandleKind kind, boolean many) {
    checkTimeout(node);
    List<DType> types = node.typesAttr("Tcomponents");
    return (c, done) -> {
      Queue q = kind.resource(c, Queue.class);
      q.spec().checkTypes(types);
      Tensor[] components = new Tensor[types.size()];
      for (int i = 0; i < components.length; i++) {
        components[i] = c.input(i + 1);
      }
      if (many) {
        long n = q.spec().checkBatch(components);
        q.enqueue(c, Batch.split(components, n), done);
      } else {
        q.spec().checkElement(components);
        q.enqueue(c, List.<Tensor[]>of(Refs.retainAll(components)), done);
      }
    };
  }

  private static Op dequeue(HandleKind kind, String name, Taking taking) {
    Op.Builder op = define(kind, name);
    if (taking != Taking.ONE) {
      op.input("n: int32");
    }
    return op.attr("component_types: list(type) >= 1")
        .attr("timeout_ms: int = -1")
        .output("components: component_types")
        .shape(c -> shapes(c, taking))
        .asyncKernel(node -> dequeuer(node, kind, taking))
        .build();
  }

  private static AsyncKernel dequeuer(Node node, HandleKind kind, Taking taking) {
    checkTimeout(node);
    List<DType> types = node.typesAttr("component_types");
    return (c, done) -> {
      Queue q = kind.resource(c, Queue.class);
      q.spec().checkTypes(types);
      if (taking == Taking.ONE) {
        q.dequeue(c, done);
        return;
      }
      if (q.spec().shapes().isEmpty()) {
        throw MillraceException.invalid(
            "%s '%s': DequeueMany and DequeueUpTo require the components to have specified shapes.",
            q.kind(), q.spec().name());
      }
      q.dequeueMany(c, count(c), taking == Taking.UP_TO, done);
    };
  }

  private static int count(KernelContext c) {
    int n = c.input(1).intValue();
    if (n < 0) {
      throw MillraceException.invalid(
          "%s '%s' requested %d < 0 elements.", c.node().op().name(), c.node().name(), n);
    }
    return n;
  }

  private static List<Shape> shapes(ShapeContext c, Taking taking) {
    int n = c.node().outputCount();
    Output handle = c.node().input(0);
    QueueSpec spec = handle == null ? null : QueueHandles.specOf(handle.node());
    if (spec == null || spec.shapes().size() != n) {
      return Collections.nCopies(n, Shape.unknown());
    }
    if (taking == Taking.ONE) {
      return spec.shapes();
    }
    Tensor count = taking == Taking.MANY ? c.constant(1) : null;
    Shape first = Shape.of(count == null || count.longAt(0) < 0 ? -1 : count.longAt(0));
    List<Shape> stacked = new ArrayList<>();
    spec.shapes().forEach(s -> stacked.add(first.concat(s)));
    return stacked;
  }

  private static Op size(HandleKind kind) {
    return define(kind, "QueueSize")
        .output("size: int32")
        .shape(Shapes.scalar())
        .kernel(c -> c.allocate(0, Shape.scalar()).setLong(0, kind.resource(c, Queue.class).size()))
        .build();
  }

  private static Op isClosed(HandleKind kind) {
    return define(kind, "QueueIsClosed")
        .output("is_closed: bool")
        .shape(Shapes.scalar())
        .kernel(
            c ->
                c.allocate(0, Shape.scalar())
                    .setLong(0, kind.resource(c, Queue.class).isClosed() ? 1 : 0))
        .build();
  }

  private static Op close(HandleKind kind) {
    return define(kind, "QueueClose")
        .attr("cancel_pending_enqueues: bool = false")
        .shape(Shapes.none())
        .asyncKernel(
            node -> {
              boolean cancel = node.booleanAttr("cancel_pending_enqueues");
              return (c, done) -> kind.resource(c, Queue.class).close(c, cancel, done);
            })
        .build();
  }

  /** TensorFlow declares timeouts but has none; deadlines belong to the step. */
  private static void checkTimeout(Node node) {
    if (node.longAttr("timeout_ms") != -1) {
      throw MillraceException.invalid(
          "%s '%s': Timeout not supported yet. Give the step a deadline instead.",
          node.op().name(), node.name());
    }
  }
}
