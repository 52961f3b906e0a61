package dev.millrace.ops.state;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.Variable;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.function.Consumer;

/**
 * The two ways in which TensorFlow names a queue or an accumulator to the ops that use it. Each
 * such op exists for both.
 */
public enum HandleKind {
  /** A reference to two strings, container and name: TensorFlow 1's way. */
  REFERENCE("Ref(string)") {
    @Override
    public Op.Builder using(Op.Builder op) {
      return op;
    }

    @Override
    public Consumer<KernelContext> maker(Node node, String kind) {
      String name = ResourceHandles.nameOf(node);
      Variable handle = new Variable(node.name(), DType.STRING);
      handle.assign(0, Tensor.vector(node.stringAttr("container"), name));
      return c -> c.outputRef(0, handle);
    }

    @Override
    public <T extends Resources.Resource> T resource(KernelContext c, Class<T> type) {
      Tensor t = c.input(0);
      if (t.elements() != 2) {
        throw MillraceException.invalid(
            "%s '%s': the handle must have two strings, container and name; it is %s.",
            c.node().op().name(), c.node().name(), t);
      }
      T r = c.resources().find(t.stringAt(0), t.stringAt(1), type);
      if (r == null) {
        throw new MillraceException(
            Code.NOT_FOUND,
            "%s '%s' does not exist on this task (node '%s')."
                .formatted(type.getSimpleName(), t.stringAt(1), c.node().name()));
      }
      return r;
    }
  },

  /** A resource handle. */
  RESOURCE("resource") {
    @Override
    public Op.Builder using(Op.Builder op) {
      return op.stateful();
    }

    @Override
    public Consumer<KernelContext> maker(Node node, String kind) {
      Tensor handle = ResourceHandles.of(node, kind);
      return c -> c.output(0, handle);
    }

    @Override
    public <T extends Resources.Resource> T resource(KernelContext c, Class<T> type) {
      return ResourceHandles.resource(c, 0, type);
    }
  };

  /** The type of the handle, in the notation of signatures. */
  public final String type;

  HandleKind(String type) {
    this.type = type;
  }

  /** Marks an op that uses the resource: TensorFlow calls those by resource handle stateful. */
  public abstract Op.Builder using(Op.Builder op);

  /** Gives output 0 of {@code node} the handle of its resource, in every step. */
  public abstract Consumer<KernelContext> maker(Node node, String kind);

  /** The resource whose handle is input 0. */
  public abstract <T extends Resources.Resource> T resource(KernelContext c, Class<T> type);
}
