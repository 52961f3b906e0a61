package dev.millrace.ops.train;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.resource.Variable;
import dev.millrace.ops.state.VariableKind;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.update.UpdateRule;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * One optimizer's update in all its forms. They differ in how the variable is reached and in
 * whether the gradient covers it or only some rows; signature, checks and the rule are the same.
 */
final class UpdateFamily {
  /** A form of the update, with what TensorFlow puts before the optimizer's name. */
  enum Form {
    DENSE("Apply", VariableKind.REFERENCE, false),
    RESOURCE("ResourceApply", VariableKind.RESOURCE, false),
    SPARSE("SparseApply", VariableKind.REFERENCE, true),
    RESOURCE_SPARSE("ResourceSparseApply", VariableKind.RESOURCE, true);

    final String prefix;
    final VariableKind kind;
    final boolean sparse;

    Form(String prefix, VariableKind kind, boolean sparse) {
      this.prefix = prefix;
      this.kind = kind;
      this.sparse = sparse;
    }
  }

  /** Makes the rule of one step from the values of the scalar inputs, in their order. */
  @FunctionalInterface
  interface Rule {
    UpdateRule with(double[] scalars);
  }

  private final String name;
  private final List<String> variables;
  private final List<String> values;
  private String attr;
  private Function<Node, Rule> rule;

  /** A family for {@code "var, slots | values"}; the gradient is the value called grad or delta. */
  UpdateFamily(String name, String inputs) {
    this.name = name;
    int bar = inputs.indexOf('|');
    this.variables = names(inputs.substring(0, bar));
    this.values = names(inputs.substring(bar + 1));
  }

  private static List<String> names(String list) {
    return Arrays.stream(list.split(",")).map(String::strip).toList();
  }

  /** The rule of a family without attributes of its own. */
  UpdateFamily rule(Rule r) {
    rule = node -> r;
    return this;
  }

  /** The rule of a family with a boolean attribute, given in the notation of signatures. */
  UpdateFamily rule(String booleanAttr, BiFunction<double[], Boolean, UpdateRule> r) {
    attr = booleanAttr;
    String attrName = booleanAttr.substring(0, booleanAttr.indexOf(':'));
    rule =
        node -> {
          boolean value = node.booleanAttr(attrName);
          return scalars -> r.apply(scalars, value);
        };
    return this;
  }

  List<Op> ops(Form... forms) {
    return Arrays.stream(forms).map(this::define).toList();
  }

  private static boolean isGradient(String value) {
    return value.equals("grad") || value.equals("delta");
  }

  private Op define(Form form) {
    Op.Builder op = Op.define(form.prefix + name).attr("T: numbertype");
    if (form.sparse) {
      op.attr("Tindices: {int32, int64}");
    }
    variables.forEach(v -> op.input(form.kind.argument(v, "T")));
    for (String v : values) {
      op.input(v.contains(":") ? v : (form.sparse && isGradient(v) ? "grad" : v) + ": T");
      if (form.sparse && isGradient(v)) {
        op.input("indices: Tindices");
      }
    }
    form.kind.result(op, "out", "T").attr("use_locking: bool = false");
    if (attr != null) {
      op.attr(attr);
    }
    return op.shape(c -> shapes(c, form))
        .kernelPerNode(node -> kernel(node, form))
        .noGradient("an update is not a function of its inputs")
        .build();
  }

  private List<Shape> shapes(ShapeContext c, Form form) {
    Shape var = form.kind.shapeOf(c, 0);
    for (int i = 1; i < variables.size(); i++) {
      var = var.mergeWith(form.kind.shapeOf(c, i));
    }
    int at = variables.size();
    for (String v : values) {
      if (!isGradient(v)) {
        c.inputOfRank(at++, 0);
      } else if (form.sparse) {
        Shape grad = c.input(at++);
        Shape indices = c.inputOfRank(at++, 1);
        if (grad.hasRank() && var.hasRank()) {
          var.withDim(0, indices.dim(0)).mergeWith(grad);
        }
      } else {
        var = var.mergeWith(c.input(at++));
      }
    }
    return form.kind.resultShapes(var);
  }

  private Kernel kernel(Node node, Form form) {
    DType type = node.typeAttr("T");
    if (!type.isFloating()) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "%s '%s' is implemented for half, bfloat16, float and double, not for %s."
              .formatted(node.op().name(), node.name(), type));
    }
    Rule maker = rule.apply(node);
    int gradAt = variables.size();
    while (!isGradient(values.get(gradAt - variables.size()))) {
      gradAt++;
    }
    int grad = gradAt;
    return c -> {
      UpdateRule update = maker.with(scalars(c, form, grad));
      Variable[] vars = new Variable[variables.size()];
      for (int i = 0; i < vars.length; i++) {
        vars[i] = form.kind.at(c, i, type);
      }
      // Read before the variables are locked: they may themselves be variables.
      Tensor gradient = c.input(grad);
      Tensor rows = form.sparse ? c.input(grad + 1) : null;
      Variable.updateAll(
          c.stepId(),
          vars,
          rows,
          form.kind == VariableKind.REFERENCE,
          state -> {
            checkState(c, state);
            if (form.sparse) {
              SparseRows.apply(c, update, state, gradient, rows);
            } else {
              checkGradient(c, state[0], gradient);
              update.apply(state, gradient);
            }
          });
      form.kind.done(c);
    };
  }

  private double[] scalars(KernelContext c, Form form, int grad) {
    double[] h = new double[values.size() - 1];
    int k = 0;
    for (int i = variables.size(); i < c.inputCount(); i++) {
      if (i == grad) {
        i += form.sparse ? 1 : 0;
        continue;
      }
      Tensor t = c.input(i);
      if (!t.shape().isScalar()) {
        throw MillraceException.invalid(
            "%s '%s': %s is not a scalar: %s.",
            c.node().op().name(), c.node().name(), c.node().op().inputs().get(i).name(), t.shape());
      }
      h[k++] = t.doubleAt(0);
    }
    return h;
  }

  private void checkState(KernelContext c, Tensor[] state) {
    for (int i = 1; i < state.length; i++) {
      if (!state[i].shape().equals(state[0].shape())) {
        throw MillraceException.invalid(
            "%s '%s': %s has shape %s, its slot %s has %s; they must be the same.",
            c.node().op().name(),
            c.node().name(),
            variables.getFirst(),
            state[0].shape(),
            variables.get(i),
            state[i].shape());
      }
    }
  }

  private static void checkGradient(KernelContext c, Tensor var, Tensor grad) {
    if (!grad.shape().equals(var.shape())) {
      throw MillraceException.invalid(
          "%s '%s': the variable has shape %s, its gradient %s; they must be the same.",
          c.node().op().name(), c.node().name(), var.shape(), grad.shape());
    }
  }
}
