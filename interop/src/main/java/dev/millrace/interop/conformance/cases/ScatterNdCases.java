package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/** Slices of tensors and variables that are changed or read at coordinates. */
public final class ScatterNdCases extends CaseTable {
  private static final List<String> CHANGES = List.of("Update", "Add", "Sub", "Min", "Max");

  private final Tensor two = Tensor.of(Shape.of(2, 2), 3, 1, 0, 2);
  private final Tensor row = Tensor.of(Shape.of(1, 1), 2L);

  public ScatterNdCases() {
    for (String change : CHANGES) {
      tensors("TensorScatter" + change);
      for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32, DType.INT64)) {
        references("ScatterNd" + change, dtype);
        resources("ResourceScatterNd" + change, dtype);
      }
    }
    tensors("ScatterNdNonAliasingAdd");
    gradients();
  }

  private void tensors(String op) {
    for (DType dtype : Kernels.types(op, "T")) {
      op(op, any(dtype, 4, 3), two, any(dtype, 2));
    }
    op(op, distinct(DType.DOUBLE, 4, 3), two, doubles(2));
    op(op, distinct(DType.DOUBLE, 4, 3), row, doubles(1, 3));
    op(op, distinct(DType.DOUBLE, 2, 2, 3), Tensor.of(Shape.of(1, 1, 2), 1, 0), doubles(1, 1, 3));
    op(op, floats(4, 3), Tensor.of(Shape.of(0, 2), new int[0]), floats(0));
    op(op, floats(4, 3), Tensor.of(Shape.of(3, 1), 1, 1, 1), floats(3, 3)).noGradient();
    op(op, floats(4, 3), Tensor.of(Shape.of(1, 2), 4, 0), floats(1)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(4, 3), Tensor.of(Shape.of(1, 2), 0, -1), floats(1)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(4, 3), two, floats(3)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(4), two, floats(2)).fails(Code.INVALID_ARGUMENT);
  }

  private void references(String op, DType dtype) {
    Scenario s = scenario(op + " of " + dtype);
    GraphWriter g = s.graph();
    StateCases.variable(g, "v", dtype, Shape.of(4, 3));
    g.constant("start", any(dtype, 4, 3));
    g.add("init", "Assign", Map.of(), "v", "start");
    scatter(s, op, dtype);
    s.run("init").fetch("some").fetch("rows").fetch("v").fails(Code.INVALID_ARGUMENT, "outside");
  }

  private void resources(String op, DType dtype) {
    Scenario s = scenario(op + " of " + dtype);
    GraphWriter g = s.graph();
    StateCases.resource(g, "v", dtype, Shape.of(4, 3));
    g.constant("start", any(dtype, 4, 3));
    g.add("init", "AssignVariableOp", Map.of(), "v", "start");
    scatter(s, op, dtype);
    g.add("read", "ReadVariableOp", Map.of("dtype", dtype), "v");
    Map<String, Object> type = Map.of("dtype", dtype);
    g.add("gather", "ResourceGatherNd", type, "v", "two");
    g.add("slices", "ResourceGatherNd", type, "v", "row");
    g.add("beyond", "ResourceGatherNd", type, "v", "far");
    s.run("init").run("some").fetch("read", "gather").run("rows").fetch("read", "slices");
    s.fails(Code.INVALID_ARGUMENT, "outside").fails(Code.INVALID_ARGUMENT, "beyond");
  }

  /** Single elements, a row, and coordinates outside. */
  private void scatter(Scenario s, String op, DType dtype) {
    GraphWriter g = s.graph();
    g.constant("two", two);
    g.constant("elements", any(dtype, 2));
    g.add("some", op, Map.of(), "v", "two", "elements");
    g.constant("row", row);
    g.constant("slice", any(dtype, 1, 3));
    g.add("rows", op, Map.of(), "v", "row", "slice");
    g.constant("far", Tensor.of(Shape.of(2, 2), 4, 1, 0, 2));
    g.add("outside", op, Map.of(), "v", "far", "elements");
  }

  private void gradients() {
    Scenario s = scenario("ResourceGatherNd, differentiated");
    GraphWriter g = s.graph();
    Shape shape = Shape.of(4, 3);
    StateCases.resource(g, "v", DType.DOUBLE, shape);
    g.placeholder("value", DType.DOUBLE, shape);
    g.add("assign", "AssignVariableOp", Map.of(), "v", "value");
    g.constant("two", two);
    g.constant("row", row);
    Map<String, Object> type = Map.of("dtype", DType.DOUBLE);
    g.add("elements", "ResourceGatherNd", type, "v", "two");
    g.add("rows", "ResourceGatherNd", type, "v", "row");
    g.add("ofElements", "Exp", Map.of(), "elements");
    g.add("ofRows", "Exp", Map.of(), "rows");
    Map<String, Tensor> feeds = Map.of("value:0", doubles(4, 3));
    s.differentiate("ofElements:0", "v:0", "assign", "value:0", feeds);
    s.differentiate("ofRows:0", "v:0", "assign", "value:0", feeds);
  }
}
