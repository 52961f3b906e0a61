package dev.millrace.ops.scatter;

import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.resource.Variable;
import dev.millrace.ops.state.RowChange;
import dev.millrace.ops.state.VariableKind;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.List;
import java.util.stream.Stream;

/** Changes the slices of a variable at coordinates; a slice named twice is changed twice. */
final class VariableScatterNd {
  static final List<Op> ALL =
      Stream.of(RowChange.UPDATE, RowChange.ADD, RowChange.SUB, RowChange.MIN, RowChange.MAX)
          .flatMap(c -> Stream.of(reference(c), resource(c)))
          .toList();

  private VariableScatterNd() {}

  private static Op reference(RowChange change) {
    boolean update = change == RowChange.UPDATE;
    return define(
        Op.define("ScatterNd" + change.label())
            .attr("T: " + (update ? "type" : "numbertype"))
            .attr("use_locking: bool = " + update),
        VariableKind.REFERENCE,
        change);
  }

  private static Op resource(RowChange change) {
    return define(
        Op.define("ResourceScatterNd" + change.label())
            .attr("T: type")
            .attr("use_locking: bool = true"),
        VariableKind.RESOURCE,
        change);
  }

  private static Op define(Op.Builder op, VariableKind kind, RowChange change) {
    op.attr("Tindices: {int32, int64}")
        .attr("bad_indices_policy: string = ''")
        .input(kind.argument("ref", "T"))
        .input("indices: Tindices")
        .input("updates: T");
    return kind.result(op, "output_ref", "T")
        .shape(c -> kind.resultShapes(infer(c, kind.shapeOf(c, 0))))
        .kernelPerNode(node -> kernel(node, kind, change))
        .noGradient("changing a variable is not a function of its inputs")
        .build();
  }

  private static Shape infer(ShapeContext c, Shape variable) {
    SliceUpdates.check(c.node(), variable, c.input(1), c.input(2));
    return variable;
  }

  private static Kernel kernel(Node node, VariableKind kind, RowChange change) {
    DType type = node.typeAttr("T");
    SliceUpdates updates = new SliceUpdates(node, change, type);
    return c -> {
      Variable v = kind.at(c, 0, type);
      kind.update(c, v, t -> updates.apply(t, c.input(1), c.input(2)));
      kind.done(c);
    };
  }
}
