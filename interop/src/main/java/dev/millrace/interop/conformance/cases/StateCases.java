package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/** Variables of both kinds: assigned, read, changed in place, scattered into. */
public final class StateCases extends CaseTable {
  private static final List<String> SCATTERS =
      List.of("Add", "Sub", "Mul", "Div", "Min", "Max", "Update");

  public StateCases() {
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32, DType.INT64, DType.HALF)) {
      referenceVariable(dtype);
      resourceVariable(dtype);
    }
    uninitialized();
    wrongShapes();
    freeShapes();
    temporary();
    counters();
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32)) {
      referenceScatter(dtype);
      resourceScatter(dtype);
    }
  }

  private void referenceVariable(DType dtype) {
    Scenario s = scenario("VariableV2 of " + dtype);
    GraphWriter g = s.graph();
    String v = variable(g, "v", dtype, Shape.of(2, 3));
    g.constant("start", any(dtype, 2, 3));
    g.constant("more", any(dtype, 2, 3));
    g.add("init", "Assign", Map.of(), v, "start");
    g.add("add", "AssignAdd", Map.of(), v, "more");
    g.add("sub", "AssignSub", Map.of("use_locking", true), v, "more");
    g.add("read", "Identity", Map.of(), v);
    g.add("is", "IsVariableInitialized", Map.of(), v);
    s.fetch("is").fetch("init").fetch("is", "read").fetch("add").run("add").fetch("read");
    s.run("sub").fetch("v").fetch("sub").run("init").fetch("read");
  }

  private void resourceVariable(DType dtype) {
    Scenario s = scenario("VarHandleOp of " + dtype);
    GraphWriter g = s.graph();
    String v = resource(g, "v", dtype, Shape.of(2, 3));
    g.constant("start", any(dtype, 2, 3));
    g.constant("more", any(dtype, 2, 3));
    g.add("init", "AssignVariableOp", Map.of(), v, "start");
    g.add("add", "AssignAddVariableOp", Map.of(), v, "more");
    g.add("sub", "AssignSubVariableOp", Map.of(), v, "more");
    g.add("read", "ReadVariableOp", Map.of("dtype", dtype), v);
    g.add("is", "VarIsInitializedOp", Map.of(), v);
    g.add("shape", "VariableShape", Map.of(), v);
    g.add("shape64", "VariableShape", Map.of("out_type", DType.INT64), v);
    g.add("destroy", "DestroyResourceOp", Map.of(), v);
    g.add("share", "DisableCopyOnRead", Map.of(), v);
    s.fails(Code.FAILED_PRECONDITION, "share");
    s.fetch("is")
        .run("init")
        .run("share")
        .fetch("is", "read", "shape", "shape64")
        .run("add")
        .fetch("read");
    s.run("sub").run("sub").fetch("read").run("destroy").fetch("is");
    s.fails(Code.FAILED_PRECONDITION, "read").run("destroy").run("init").fetch("read");
  }

  private void uninitialized() {
    Scenario s = scenario("VariableV2 without a value");
    GraphWriter g = s.graph();
    String v = variable(g, "v", DType.FLOAT, Shape.of(2));
    g.constant("more", floats(2));
    g.add("add", "AssignAdd", Map.of(), v, "more");
    g.add("read", "Identity", Map.of(), v);
    g.add("init", "Assign", Map.of(), v, "more");
    s.fails(Code.FAILED_PRECONDITION, "read").fails(Code.FAILED_PRECONDITION, "add");
    s.run("init").run("add").fetch("read");

    Scenario r = scenario("VarHandleOp without a value");
    resource(r.graph(), "v", DType.FLOAT, Shape.of(2));
    r.graph().add("read", "ReadVariableOp", Map.of("dtype", DType.FLOAT), "v");
    r.fails(Code.FAILED_PRECONDITION, "read");
  }

  private void wrongShapes() {
    Scenario s = scenario("Assign of another shape");
    GraphWriter g = s.graph();
    variable(g, "v", DType.FLOAT, Shape.of(2));
    g.placeholder("three", DType.FLOAT, Shape.unknown());
    g.constant("two", floats(2));
    g.add("init", "Assign", Map.of(), "v", "two");
    g.constant("long", floats(3));
    g.add("anyway", "Assign", Map.of("validate_shape", false), "v", "long");
    g.add("read", "Identity", Map.of(), "v");
    s.run("init").fetch("read").run("anyway").fetch("read");

    Scenario add = scenario("AssignAdd of another shape");
    resource(add.graph(), "v", DType.FLOAT, Shape.unknown());
    add.graph().constant("two", floats(2));
    add.graph().constant("three", floats(3));
    add.graph().add("init", "AssignVariableOp", Map.of(), "v", "two");
    add.graph().add("add", "AssignAddVariableOp", Map.of(), "v", "three");
    add.run("init").fails(Code.INVALID_ARGUMENT, "add");
  }

  private void freeShapes() {
    Scenario s = scenario("VarHandleOp without a shape");
    GraphWriter g = s.graph();
    resource(g, "v", DType.FLOAT, Shape.unknown());
    g.constant("two", floats(2));
    g.constant("square", floats(2, 2));
    g.add("first", "AssignVariableOp", Map.of(), "v", "two");
    g.add("second", "AssignVariableOp", Map.of(), "v", "square");
    g.add("read", "ReadVariableOp", Map.of("dtype", DType.FLOAT), "v");
    s.run("first").fetch("read").run("second").fetch("read");
  }

  private void temporary() {
    Scenario s = scenario("TemporaryVariable");
    GraphWriter g = s.graph();
    g.add("t", "TemporaryVariable", Map.of("dtype", DType.FLOAT, "shape", Shape.of(2)));
    g.constant("start", floats(2));
    g.constant("more", floats(2));
    g.add("a", "Assign", Map.of(), "t", "start");
    g.add("b", "AssignAdd", Map.of(), "a", "more");
    g.add("end", "DestroyTemporaryVariable", Map.of("var_name", "t"), "b");
    s.fetch("end").fetch("end");
  }

  private void counters() {
    Scenario s = scenario("CountUpTo");
    GraphWriter g = s.graph();
    g.add("v", "Variable", Map.of("dtype", DType.INT32, "shape", Shape.scalar()));
    g.constant("zero", Tensor.scalar(0));
    g.add("init", "Assign", Map.of(), "v", "zero");
    g.add("count", "CountUpTo", Map.of("limit", 2), "v");
    s.run("init").fetch("count").fetch("count").fails(Code.OUT_OF_RANGE, "count").fetch("v");

    Scenario r = scenario("ResourceCountUpTo");
    resource(r.graph(), "v", DType.INT64, Shape.scalar());
    r.graph().constant("zero", Tensor.scalar(0L));
    r.graph().add("init", "AssignVariableOp", Map.of(), "v", "zero");
    r.graph().add("count", "ResourceCountUpTo", Map.of("limit", 2, "T", DType.INT64), "v");
    r.run("init").fetch("count").fetch("count").fails(Code.OUT_OF_RANGE, "count");
  }

  private void referenceScatter(DType dtype) {
    for (String kind : SCATTERS) {
      String op = "Scatter" + kind;
      Scenario s = scenario(op + " of " + dtype);
      GraphWriter g = s.graph();
      variable(g, "v", dtype, Shape.of(4, 3));
      g.constant("start", any(dtype, 4, 3));
      g.add("init", "Assign", Map.of(), "v", "start");
      g.constant("rows", op.equals("ScatterUpdate") ? ints(3, 1) : ints(3, 3));
      g.constant("updates", values.of(Domain.NONZERO, dtype, Shape.of(2, 3)));
      g.add("scatter", op, Map.of(), "v", "rows", "updates");
      g.constant("row", Tensor.scalar(2L));
      g.constant("update", values.of(Domain.NONZERO, dtype, Shape.of(3)));
      g.add("one", op, Map.of(), "v", "row", "update");
      g.constant("far", ints(0, 4));
      g.add("outside", op, Map.of(), "v", "far", "updates");
      s.run("init").fetch("scatter").fetch("one").fetch("v");
      s.fails(Code.INVALID_ARGUMENT, "outside");
    }
  }

  private void resourceScatter(DType dtype) {
    for (String kind : SCATTERS) {
      String op = "ResourceScatter" + kind;
      Scenario s = scenario(op + " of " + dtype);
      GraphWriter g = s.graph();
      resource(g, "v", dtype, Shape.of(4, 3));
      g.constant("start", any(dtype, 4, 3));
      g.add("init", "AssignVariableOp", Map.of(), "v", "start");
      g.constant("rows", op.endsWith("Update") ? longs(3, 1) : longs(3, 3));
      g.constant("updates", values.of(Domain.NONZERO, dtype, Shape.of(2, 3)));
      g.add("scatter", op, Map.of(), "v", "rows", "updates");
      g.add("read", "ReadVariableOp", Map.of("dtype", dtype), "v");
      g.add("gather", "ResourceGather", Map.of("dtype", dtype), "v", "rows");
      g.constant("far", ints(0, 4));
      g.add("outside", op, Map.of(), "v", "far", "updates");
      g.add("beyond", "ResourceGather", Map.of("dtype", dtype), "v", "far");
      s.run("init").run("scatter").fetch("read", "gather").run("scatter").fetch("read");
      s.fails(Code.INVALID_ARGUMENT, "outside").fails(Code.INVALID_ARGUMENT, "beyond");
    }
  }

  static String variable(GraphWriter g, String name, DType dtype, Shape shape) {
    return g.add(name, "VariableV2", Map.of("dtype", dtype, "shape", shape));
  }

  static String resource(GraphWriter g, String name, DType dtype, Shape shape) {
    return g.add(name, "VarHandleOp", Map.of("dtype", dtype, "shape", shape, "shared_name", name));
  }
}
