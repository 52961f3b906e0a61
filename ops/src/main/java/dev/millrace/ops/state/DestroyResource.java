package dev.millrace.ops.state;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.shape.Shapes;

/** Removes the resource a handle names, whatever it is. */
public final class DestroyResource {
  public static final Op OP =
      Op.define("DestroyResourceOp")
          .attr("ignore_lookup_error: bool = true")
          .input("resource: resource")
          .stateful()
          .shape(Shapes.none())
          .kernelPerNode(
              node -> {
                boolean ignore = node.booleanAttr("ignore_lookup_error");
                return c -> {
                  Resources.Handle h = ResourceHandles.at(c, 0);
                  if (!c.resources().remove(h.container(), h.name()) && !ignore) {
                    throw new MillraceException(
                        Code.NOT_FOUND,
                        "Resource %s/%s does not exist.".formatted(h.container(), h.name()));
                  }
                };
              })
          .noGradient("it has no outputs")
          .build();

  private DestroyResource() {}
}
