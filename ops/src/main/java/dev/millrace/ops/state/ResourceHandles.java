package dev.millrace.ops.state;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.resource.Resources;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/**
 * Scalar tensors that name a resource: made by the op that stands for it, followed by the ops that
 * use it.
 */
public final class ResourceHandles {
  private ResourceHandles() {}

  /** The name under which {@code node} keeps its resource: the shared one, or its own. */
  public static String nameOf(Node node) {
    String shared = node.stringAttr("shared_name");
    return shared.isEmpty() ? node.name() : shared;
  }

  /** The handle of the resource of this kind that {@code node} stands for. */
  public static Tensor of(Node node, String kind) {
    String container = node.stringAttr("container");
    return Refs.ofObjects(
        DType.RESOURCE,
        Shape.scalar(),
        new Object[] {
          new Resources.Handle(
              node.device(),
              container.isEmpty() ? Resources.DEFAULT_CONTAINER : container,
              nameOf(node),
              kind)
        });
  }

  /** The handle that input {@code i} holds. */
  public static Resources.Handle at(KernelContext c, int i) {
    Tensor t = c.input(i);
    if (t.elements() == 1 && t.objects()[0] instanceof Resources.Handle h) {
      return h;
    }
    throw MillraceException.invalid(
        "%s '%s': input %d must be a scalar handle of a resource; it is %s.",
        c.node().op().name(), c.node().name(), i, t);
  }

  /** The resource that the handle in input {@code i} names; NOT_FOUND if there is none. */
  public static <T extends Resources.Resource> T resource(KernelContext c, int i, Class<T> type) {
    Resources.Handle h = at(c, i);
    T r = c.resources().find(h.container(), h.name(), type);
    if (r == null) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "Resource %s/%s/%s does not exist on this task (node '%s')."
              .formatted(h.container(), h.name(), h.kind(), c.node().name()));
    }
    return r;
  }
}
