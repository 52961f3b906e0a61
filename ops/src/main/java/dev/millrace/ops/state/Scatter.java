package dev.millrace.ops.state;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.resource.Variable;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Rows;
import dev.millrace.tensor.math.complex.ComplexElements;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * Changes the rows of a variable that {@code indices} name, in order, by rows of {@code updates} or
 * by a single number. A row named twice is changed twice.
 */
public final class Scatter {
  static final List<Op> ALL =
      Arrays.stream(RowChange.values()).flatMap(c -> Stream.of(reference(c), resource(c))).toList();

  private Scatter() {}

  /** Adds a node that replaces rows of the variable behind {@code ref}, of either kind. */
  public static Node update(Scope scope, Output ref, Output indices, Output updates) {
    return add(scope, RowChange.UPDATE, ref, indices, updates);
  }

  /** Adds a node that adds to rows of the variable behind {@code ref}, of either kind. */
  public static Node add(Scope scope, Output ref, Output indices, Output updates) {
    return add(scope, RowChange.ADD, ref, indices, updates);
  }

  /** Adds a node that subtracts from rows of the variable behind {@code ref}, of either kind. */
  public static Node sub(Scope scope, Output ref, Output indices, Output updates) {
    return add(scope, RowChange.SUB, ref, indices, updates);
  }

  private static Node add(Scope scope, RowChange change, Output ref, Output at, Output updates) {
    String op = (ref.isRef() ? "Scatter" : "ResourceScatter") + change.label();
    return scope.node(op).input(ref).input(at).input(updates).add();
  }

  private static Op reference(RowChange change) {
    String types =
        switch (change) {
          case UPDATE -> "type";
          case MIN, MAX -> "{half, bfloat16, float, double, int32, int64}";
          default -> "numbertype";
        };
    return define(
        Op.define("Scatter" + change.label())
            .attr("T: " + types)
            .attr("Tindices: {int32, int64}")
            .input("ref: Ref(T)")
            .input("indices: Tindices")
            .input("updates: T")
            .output("output_ref: Ref(T)")
            .attr("use_locking: bool = " + (change == RowChange.UPDATE)),
        VariableKind.REFERENCE,
        "T",
        change);
  }

  private static Op resource(RowChange change) {
    return define(
        Op.define("ResourceScatter" + change.label())
            .attr("dtype: " + (change == RowChange.UPDATE ? "type" : "numbertype"))
            .attr("Tindices: {int32, int64}")
            .input("resource: resource")
            .input("indices: Tindices")
            .input("updates: dtype")
            .stateful(),
        VariableKind.RESOURCE,
        "dtype",
        change);
  }

  private static Op define(Op.Builder op, VariableKind kind, String typeAttr, RowChange change) {
    return op.shape(c -> kind.resultShapes(infer(c, kind.shapeOf(c, 0))))
        .kernelPerNode(node -> kernel(node, kind, node.typeAttr(typeAttr), change))
        .noGradient("changing a variable is not a function of its inputs")
        .build();
  }

  private static Shape infer(ShapeContext c, Shape var) {
    Shape indices = c.input(1);
    Shape updates = c.input(2);
    if (var.hasRank() && indices.hasRank() && updates.rank() > 0) {
      check(c.node(), var, indices, updates);
    }
    return var;
  }

  private static void check(Node node, Shape var, Shape indices, Shape updates) {
    if (var.rank() >= 1
        && (updates.isScalar()
            || indices.concat(var.slice(1, var.rank())).isCompatibleWith(updates))) {
      return;
    }
    throw MillraceException.invalid(
        "%s '%s': Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [],"
            + " got updates.shape %s, indices.shape %s, params.shape %s.",
        node.op().name(), node.name(), updates, indices, var);
  }

  private static Kernel kernel(Node node, VariableKind kind, DType type, RowChange change) {
    if (!change.supports(type)) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "%s '%s' is not implemented for elements of type %s."
              .formatted(node.op().name(), node.name(), type));
    }
    // So TensorFlow does, of this kind of variable only.
    boolean refusesZero = change == RowChange.DIV && kind == VariableKind.RESOURCE;
    return c -> {
      if (refusesZero) {
        checkNoZero(c);
      }
      Variable v = kind.at(c, 0, type);
      kind.updateRows(c, v, c.input(1), t -> scatter(c, t, change));
      kind.done(c);
    };
  }

  private static void checkNoZero(KernelContext c) {
    Tensor updates = c.input(2);
    for (long i = 0; i < updates.elements(); i++) {
      boolean zero =
          updates.dtype().isComplex()
              ? ComplexElements.at(updates.dtype(), updates.data(), i).isZero()
              : updates.doubleAt(i) == 0;
      if (zero) {
        throw MillraceException.invalid(
            "%s '%s': updates must not contain 0; element %d is.",
            c.node().op().name(), c.node().name(), i);
      }
    }
  }

  private static void scatter(KernelContext c, Tensor var, RowChange change) {
    Tensor indices = c.input(1);
    Tensor updates = c.input(2);
    check(c.node(), var.shape(), indices.shape(), updates.shape());
    long wrong = Rows.firstOutside(indices, var.shape().dim(0));
    if (wrong >= 0) {
      throw MillraceException.invalid(
          "%s '%s': indices[%d] = %d is not in [0, %d)",
          c.node().op().name(), c.node().name(), wrong, indices.longAt(wrong), var.shape().dim(0));
    }
    long n = indices.elements();
    long width = n == 0 ? 0 : var.elements() / var.shape().dim(0);
    boolean same = updates.shape().isScalar();
    for (long i = 0; i < n; i++) {
      long to = indices.longAt(i) * width;
      if (same) {
        for (long k = 0; k < width; k++) {
          change.apply(var, to + k, updates, 0, 1);
        }
      } else {
        change.apply(var, to, updates, i * width, width);
      }
    }
  }
}
