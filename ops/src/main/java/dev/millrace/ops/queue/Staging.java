package dev.millrace.ops.queue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** A staging area: a queue without a handle, met by all nodes of one shared name. */
public final class Staging {
  public static final Op STAGE =
      define("Stage")
          .input("values: dtypes")
          .shape(Shapes.none())
          .asyncKernel(
              node -> {
                QueueSpec spec = spec(node);
                return (c, done) -> {
                  Tensor[] element = new Tensor[c.inputCount()];
                  long bytes = 0;
                  for (int i = 0; i < element.length; i++) {
                    element[i] = c.input(i);
                    bytes += element[i].byteSize();
                  }
                  if (bytes > spec.capacityBytes()) {
                    throw new MillraceException(
                        Code.RESOURCE_EXHAUSTED,
                        ("Stage '%s': attempted to insert tensors with combined size of %d bytes"
                                + " into staging area '%s' with a memory limit of %d.")
                            .formatted(node.name(), bytes, spec.name(), spec.capacityBytes()));
                  }
                  element = Refs.retainAll(element);
                  area(c, node, spec).enqueue(c, List.<Tensor[]>of(element), done);
                };
              })
          .build();

  public static final Op UNSTAGE =
      define("Unstage")
          .output("values: dtypes")
          .shape(Shapes.unknown())
          .asyncKernel(
              node -> {
                QueueSpec spec = spec(node);
                return (c, done) -> area(c, node, spec).dequeue(c, done);
              })
          .build();

  private Staging() {}

  private static Op.Builder define(String name) {
    return Op.define(name)
        .attr("capacity: int >= 0 = 0")
        .attr("memory_limit: int >= 0 = 0")
        .attr("dtypes: list(type) >= 1")
        .attr("container: string = ''")
        .attr("shared_name: string = ''")
        .stateful()
        .noGradient("what passes a staging area comes from another step");
  }

  private static QueueSpec spec(Node node) {
    long capacity = node.longAttr("capacity");
    long limit = node.longAttr("memory_limit");
    return new QueueSpec(
        "StagingArea",
        ResourceHandles.nameOf(node),
        node.typesAttr("dtypes"),
        List.of(),
        capacity == 0 ? Integer.MAX_VALUE : (int) Math.min(capacity, Integer.MAX_VALUE),
        limit == 0 ? Long.MAX_VALUE : limit);
  }

  private static Queue area(KernelContext c, Node node, QueueSpec spec) {
    Queue q =
        c.resources()
            .getOrCreate(
                node.stringAttr("container"),
                spec.name(),
                Queue.class,
                () -> new Queue(spec, new QueueOrder.Fifo()));
    q.spec().checkTypes(spec.types());
    return q;
  }
}
