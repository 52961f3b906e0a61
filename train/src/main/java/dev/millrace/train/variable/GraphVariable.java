package dev.millrace.train.variable;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Gather;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;

/**
 * A variable of a graph: the node that holds it and the nodes that belong to it.
 *
 * @param handle the reference (VariableV2) or the resource handle (VarHandleOp)
 * @param read the value as it is when the step reads it
 * @param initialValue what {@link #initializer} assigns
 * @param initializer the node that gives the variable its initial value
 * @param dtype the type of its elements
 * @param shape the shape of its value
 * @param trainable whether optimizers change it unless told otherwise
 * @param part which part of a partitioned variable it is; null if it is a variable of its own
 */
public record GraphVariable(
    Output handle,
    Output read,
    Output initialValue,
    Node initializer,
    DType dtype,
    Shape shape,
    boolean trainable,
    VariablePart part) {

  /** The name of the node that holds it. */
  public String name() {
    return handle.node().name();
  }

  /** The name of the tensor it is, or is a part of, in checkpoints. */
  public String savedName() {
    return part == null ? name() : part.whole();
  }

  /** Which slice of that tensor it is, in TensorFlow's form; empty if it is all of it. */
  public String savedSlice() {
    return part == null ? "" : part.slice().toString();
  }

  /** The node that holds it. */
  public Node node() {
    return handle.node();
  }

  /** The graph it is in. */
  public Graph graph() {
    return handle.node().graph();
  }

  /** Whether it is a resource variable rather than a reference variable. */
  public boolean isResource() {
    return handle.dtype() == DType.RESOURCE;
  }

  /** Adds a node that assigns {@code value}. */
  public Node assign(Scope scope, Output value) {
    NodeBuilder b = scope.node(isResource() ? "AssignVariableOp" : "Assign");
    b.input(handle).input(value);
    return (isResource() ? b : b.attr("use_locking", false)).add();
  }

  /** Adds a node that adds {@code value} to it. */
  public Node assignAdd(Scope scope, Output value) {
    return change(scope, "AssignAdd", value);
  }

  /** Adds a node that subtracts {@code value} from it. */
  public Node assignSub(Scope scope, Output value) {
    return change(scope, "AssignSub", value);
  }

  private Node change(Scope scope, String op, Output value) {
    return scope.node(isResource() ? op + "VariableOp" : op).input(handle).input(value).add();
  }

  /** Adds a node that reads the rows {@code indices}, and only those. */
  public Output rows(Scope scope, Output indices) {
    if (!isResource()) {
      return Gather.of(scope, handle, indices);
    }
    return scope
        .node("ResourceGather")
        .input(handle)
        .input(indices)
        .attr("dtype", dtype)
        .add()
        .output();
  }

  /** Adds a node that sets row {@code indices[i]} to row {@code i} of {@code rows}. */
  public Node scatterUpdate(Scope scope, Output indices, Output rows) {
    return scope
        .node(isResource() ? "ResourceScatterUpdate" : "ScatterUpdate")
        .input(handle)
        .input(indices)
        .input(rows)
        .add();
  }

  /** Adds a node that adds row {@code i} of {@code rows} to row {@code indices[i]}. */
  public Node scatterAdd(Scope scope, Output indices, Output rows) {
    return scope
        .node(isResource() ? "ResourceScatterAdd" : "ScatterAdd")
        .input(handle)
        .input(indices)
        .input(rows)
        .add();
  }

  /** The value after {@code change}, a node of one of the methods above, has run. */
  public Output valueAfter(Scope scope, Node change) {
    if (!isResource()) {
      return change.output(0);
    }
    Output value =
        scope
            .withControlInputs(change)
            .node("ReadVariableOp")
            .input(handle)
            .attr("dtype", dtype)
            .add()
            .output();
    value.refineShape(shape);
    return value;
  }

  @Override
  public String toString() {
    return name() + " " + dtype + shape;
  }
}
