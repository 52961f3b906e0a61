package dev.millrace.ops.flow;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Stacks of tensors that live as long as a step. The gradient of a loop has one for each value of
 * its forward rounds that it needs again, last first.
 */
final class Stacks {
  private static final AtomicLong COUNT = new AtomicLong();

  static final Op STACK =
      Op.define("StackV2")
          .attr("elem_type: type")
          .attr("stack_name: string = ''")
          .input("max_size: int32")
          .output("handle: resource")
          .stateful()
          .shape(Shapes.scalar())
          .kernelPerNode(Stacks::make)
          .noGradient("it is a place, not a number")
          .build();

  static final Op PUSH =
      Op.define("StackPushV2")
          .attr("T: type")
          .attr("swap_memory: bool = false")
          .input("handle: resource")
          .input("elem: T")
          .output("output: T")
          .stateful()
          .shape(Shapes.like(1))
          .kernel(Stacks::push)
          .noGradient("it is a part of gradients itself")
          .build();

  static final Op POP =
      Op.define("StackPopV2")
          .attr("elem_type: type")
          .input("handle: resource")
          .output("elem: elem_type")
          .stateful()
          .shape(c -> List.of(Shape.unknown()))
          .kernel(Stacks::pop)
          .noGradient("it is a part of gradients itself")
          .build();

  static final Op CLOSE =
      Op.define("StackCloseV2")
          .input("handle: resource")
          .stateful()
          .shape(c -> List.of())
          .kernel(
              c -> {
                Resources.Handle h = ResourceHandles.at(c, 0);
                c.resources().remove(h.container(), h.name());
              })
          .noGradient("it has no result")
          .build();

  private Stacks() {}

  /**
   * A stack of tensors.
   *
   * <p>Threading: any thread.
   */
  private static final class Stack implements Resources.Resource {
    private final String name;
    private final DType type;
    private final int maxSize;
    private final ArrayDeque<Tensor> values = new ArrayDeque<>();

    Stack(String name, DType type, int maxSize) {
      this.name = name;
      this.type = type;
      this.maxSize = maxSize;
    }

    @Override
    public String kind() {
      return "Stack";
    }

    synchronized void push(Tensor t) {
      if (t.dtype() != type) {
        throw MillraceException.invalid("Stack[%s] holds %s, not %s.", name, type, t.dtype());
      }
      if (maxSize >= 0 && values.size() >= maxSize) {
        throw MillraceException.invalid("Stack[%s] overflowed its max_size (%d)", name, maxSize);
      }
      values.push(Refs.retain(t));
    }

    synchronized Tensor pop() {
      if (values.isEmpty()) {
        throw MillraceException.invalid("Stack[%s] is empty when calling Pop().", name);
      }
      return values.pop();
    }

    @Override
    public synchronized void close() {
      values.forEach(Refs::release);
      values.clear();
    }
  }

  private static Kernel make(Node node) {
    String given = node.stringAttr("stack_name");
    String prefix = given.isEmpty() ? node.name() : given;
    DType type = node.typeAttr("elem_type");
    return c -> {
      int maxSize = c.input(0).intValue();
      String container = Resources.containerOfStep(c.stepId());
      String name = prefix + "_" + COUNT.getAndIncrement();
      Resources resources = c.resources();
      resources.getOrCreate(container, name, Stack.class, () -> new Stack(name, type, maxSize));
      c.afterRun(() -> resources.remove(container, name));
      Resources.Handle handle = new Resources.Handle(node.device(), container, name, "Stack");
      c.output(0, Refs.ofObjects(DType.RESOURCE, Shape.scalar(), new Object[] {handle}));
    };
  }

  private static void push(KernelContext c) {
    ResourceHandles.resource(c, 0, Stack.class).push(c.input(1));
    c.forward(0, 1);
  }

  private static void pop(KernelContext c) {
    c.output(0, ResourceHandles.resource(c, 0, Stack.class).pop());
  }
}
