package dev.millrace.ops.state;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.Variable;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.function.Consumer;

/**
 * The two kinds of variables. An op that changes one exists for both; what it computes is the same,
 * the kind says how it reaches the variable, what others see of the change, and what it returns.
 */
public enum VariableKind {
  /** Reached by a reference, changed in place, and the reference is returned. */
  REFERENCE {
    @Override
    public String argument(String name, String type) {
      return name + ": Ref(" + type + ")";
    }

    @Override
    public Op.Builder result(Op.Builder op, String name, String type) {
      return op.output(name + ": Ref(" + type + ")");
    }

    @Override
    public Shape shapeOf(ShapeContext c, int i) {
      return c.input(i);
    }

    @Override
    public List<Shape> resultShapes(Shape variable) {
      return List.of(variable);
    }

    @Override
    public Variable at(KernelContext c, int i) {
      return c.ref(i);
    }

    @Override
    public void update(KernelContext c, Variable v, Consumer<Tensor> change) {
      v.update(c.stepId(), change);
    }

    @Override
    public void updateRows(KernelContext c, Variable v, Tensor rows, Consumer<Tensor> change) {
      v.update(c.stepId(), rows, change);
    }

    @Override
    public void done(KernelContext c) {
      c.forward(0, 0);
    }
  },

  /** Reached by a handle, and those who read it before keep the value they read. */
  RESOURCE {
    @Override
    public String argument(String name, String type) {
      return name + ": resource";
    }

    @Override
    public Op.Builder result(Op.Builder op, String name, String type) {
      return op.stateful();
    }

    @Override
    public Shape shapeOf(ShapeContext c, int i) {
      return shapeBehind(c.node().input(i));
    }

    @Override
    public List<Shape> resultShapes(Shape variable) {
      return List.of();
    }

    @Override
    public Variable at(KernelContext c, int i) {
      Resources.Handle h = ResourceHandles.at(c, i);
      Variable v = c.resources().find(h.container(), h.name(), Variable.class);
      if (v == null || !v.isInitialized()) {
        throw uninitialized(h, c.node());
      }
      return v;
    }

    @Override
    public void update(KernelContext c, Variable v, Consumer<Tensor> change) {
      v.updateCopied(c.stepId(), change);
    }

    @Override
    public void updateRows(KernelContext c, Variable v, Tensor rows, Consumer<Tensor> change) {
      v.updateRows(c.stepId(), rows, change);
    }

    @Override
    public void done(KernelContext c) {}
  };

  /** An input argument for a variable of elements of {@code type}. */
  public abstract String argument(String name, String type);

  /** Adds what an op that changes the variable returns. */
  public abstract Op.Builder result(Op.Builder op, String name, String type);

  /** What is known of the shape of the variable in input {@code i}. */
  public abstract Shape shapeOf(ShapeContext c, int i);

  /** The shapes of what {@link #result} returns, for a variable of this shape. */
  public abstract List<Shape> resultShapes(Shape variable);

  /** The variable in input {@code i}, which must have a value. */
  public abstract Variable at(KernelContext c, int i);

  /** Changes the variable's value. */
  public abstract void update(KernelContext c, Variable v, Consumer<Tensor> change);

  /** Changes only the rows of these indices of the variable's value. */
  public abstract void updateRows(
      KernelContext c, Variable v, Tensor rows, Consumer<Tensor> change);

  /** Sets the outputs of an op that changed the variable in input 0. */
  public abstract void done(KernelContext c);

  /** Like {@link #at}, for a variable that must have elements of {@code type}. */
  public final Variable at(KernelContext c, int i, DType type) {
    Variable v = at(c, i);
    if (v.dtype() != type) {
      throw MillraceException.invalid(
          "%s '%s': variable '%s' is %s; the op was built for %s.",
          c.node().op().name(), c.node().name(), v.name(), v.dtype(), type);
    }
    return v;
  }

  /** The declared shape of the variable whose handle {@code handle} is, where that is known. */
  static Shape shapeBehind(Output handle) {
    Node n = handleOf(handle);
    return n != null ? n.shapeAttr("shape") : Shape.unknown();
  }

  /** Refuses to read the variable whose handle {@code handle} is as if it had another type. */
  static void checkType(Output handle, DType wanted) {
    Node n = handleOf(handle);
    if (n != null && n.typeAttr("dtype") != wanted) {
      throw MillraceException.invalid(
          "Trying to read variable with wrong dtype. Expected %s got %s.",
          n.typeAttr("dtype"), wanted);
    }
  }

  /** The node that names the variable, where it is known. */
  private static Node handleOf(Output handle) {
    Node n = handle == null ? null : handle.node();
    while (n != null && n.op().name().equals("Identity") && n.input(0) != null) {
      n = n.input(0).node();
    }
    return n != null && n.op() == VarHandle.OP ? n : null;
  }

  /** The error whose wording TensorFlow's session recovery looks for. */
  static MillraceException uninitialized(Resources.Handle h, Node node) {
    return new MillraceException(
        Code.FAILED_PRECONDITION,
        ("Could not find variable %s (node '%s', container %s). Either it is uninitialized: run its"
                + " initializer or restore a checkpoint first; or it has been deleted.")
            .formatted(h.name(), node.name(), h.container()));
  }
}
