package dev.millrace.interop.conformance.cases;

import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.RealTensorFlow;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.proto.DataType;
import dev.millrace.proto.OpDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The updates of the optimizers: dense and sparse, on reference and resource variables. */
public final class UpdateCases extends CaseTable {
  /** A setting for every scalar an update takes, by its name in the signature. */
  private static final Map<String, Double> SETTINGS =
      Map.ofEntries(
          Map.entry("lr", 0.125),
          Map.entry("alpha", 0.125),
          Map.entry("beta1_power", 0.75),
          Map.entry("beta2_power", 0.875),
          Map.entry("beta1", 0.875),
          Map.entry("beta2", 0.9375),
          Map.entry("epsilon", 0.0009765625),
          Map.entry("momentum", 0.75),
          Map.entry("rho", 0.875),
          Map.entry("l1", 0.0625),
          Map.entry("l2", 0.03125),
          Map.entry("l2_shrinkage", 0.015625),
          Map.entry("lr_power", -0.5),
          Map.entry("beta", 0.875),
          Map.entry("sign_decay", 0.75),
          Map.entry("logbase", 1.125));

  public UpdateCases() {
    for (String op : updates()) {
      for (DType dtype : Kernels.types(op, "T")) {
        update(op, dtype, Map.of());
      }
      for (OpDef.AttrDef attr : GraphWriter.definition(op).getAttrList()) {
        boolean set = !attr.getDefaultValue().getB();
        if (attr.getType().equals("bool")) {
          update(op, DType.FLOAT, Map.of(attr.getName(), set));
        }
      }
    }
    update("ApplyFtrl", DType.FLOAT, Map.of(), Map.of("lr_power", -0.25));
    update("ApplyFtrl", DType.FLOAT, Map.of(), Map.of("lr_power", 0.0));
    update("ApplyFtrl", DType.FLOAT, Map.of(), Map.of("l1", 0.0, "l2", 0.0));
    update("ApplyProximalGradientDescent", DType.FLOAT, Map.of(), Map.of("l1", 0.0));
  }

  /** Every op of TensorFlow that applies a gradient to a variable, always in the same order. */
  private static List<String> updates() {
    return RealTensorFlow.ops().getOpList().stream()
        .filter(op -> op.getName().matches("(Resource)?(Sparse)?Apply.*"))
        .map(OpDef::getName)
        .sorted()
        .toList();
  }

  private void update(String op, DType dtype, Map<String, Object> attributes) {
    update(op, dtype, attributes, Map.of());
  }

  /** Three updates with different gradients, after each of which all variables are compared. */
  private void update(
      String op, DType dtype, Map<String, Object> attributes, Map<String, Double> settings) {
    Scenario s = scenario(op + " of " + dtype + " " + attributes + settings).slack(8);
    GraphWriter g = s.graph();
    boolean sparse = op.contains("Sparse");
    Shape shape = sparse ? Shape.of(6, 5) : Shape.of(3, 13);
    List<String> inputs = new ArrayList<>();
    List<String> reads = new ArrayList<>();
    List<String> starts = new ArrayList<>();
    for (OpDef.ArgDef arg : GraphWriter.definition(op).getInputArgList()) {
      String name = arg.getName();
      inputs.add(name);
      if (arg.getIsRef() || arg.getType() == DataType.DT_RESOURCE) {
        addVariable(g, name, start(name, dtype, shape), arg.getIsRef());
        reads.add(name + "_read");
        starts.add(name + "_start");
      } else if (name.equals("grad") || name.equals("delta")) {
        g.placeholder(name, dtype, sparse ? Shape.of(3, 5) : shape);
      } else if (name.equals("indices")) {
        g.constant(name, ints(4, 0, 3));
      } else if (name.equals("global_step")) {
        g.constant(name, Tensor.scalar(3L));
      } else {
        g.constant(name, scalar(dtype, settings.getOrDefault(name, SETTINGS.get(name))));
      }
    }
    g.add("update", op, attributes, inputs.toArray(String[]::new));
    s.run(starts.toArray(String[]::new)).fetch(reads.toArray(String[]::new));
    String gradient = inputs.contains("grad") ? "grad:0" : "delta:0";
    for (int i = 0; i < 3; i++) {
      Tensor value = values.of(Domain.ANY, dtype, sparse ? Shape.of(3, 5) : shape);
      s.run(Map.of(gradient, value), "update");
      s.fetch(reads.toArray(String[]::new));
    }
  }

  private Tensor start(String variable, DType dtype, Shape shape) {
    Tensor start = values.of(variable.equals("var") ? Domain.ANY : Domain.POSITIVE, dtype, shape);
    if (variable.equals("ms")) {
      // A mean of squares is above the square of the mean, from which it is taken.
      for (long i = 0; i < start.elements(); i++) {
        start.setDouble(i, start.doubleAt(i) + 8);
      }
    }
    return start;
  }

  private static void addVariable(GraphWriter g, String name, Tensor start, boolean isRef) {
    g.constant(name + "_value", start);
    if (isRef) {
      StateCases.variable(g, name, start.dtype(), start.shape());
      g.add(name + "_start", "Assign", Map.of(), name, name + "_value");
      g.add(name + "_read", "Identity", Map.of(), name);
    } else {
      StateCases.resource(g, name, start.dtype(), start.shape());
      g.add(name + "_start", "AssignVariableOp", Map.of(), name, name + "_value");
      g.add(name + "_read", "ReadVariableOp", Map.of("dtype", start.dtype()), name);
    }
  }
}
