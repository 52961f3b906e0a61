package dev.millrace.train.layers;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.DynamicPartition;
import dev.millrace.ops.array.DynamicStitch;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Range;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.PartitionedVariable;
import java.util.ArrayList;
import java.util.List;

/** Looks up rows of a table, where the table is; only the rows found travel to the caller. */
public final class Embedding {
  private Embedding() {}

  /** The rows of {@code table} that {@code ids} name. Its gradient is by rows too. */
  public static Output lookup(Scope scope, GraphVariable table, Output ids) {
    Scope s = scope.withSubScope("embedding_lookup");
    Scope there = s.colocatedWith(table.node());
    Output rows =
        table.isResource()
            ? there
                .asNode()
                .node("ResourceGather")
                .input(table.handle())
                .input(ids)
                .attr("dtype", table.dtype())
                .add()
                .output()
            : there
                .asNode()
                .node("GatherV2")
                .input(table.read())
                .input(ids)
                .input(Const.of(there.withName("axis"), 0))
                .add()
                .output();
    return Identity.of(s, rows);
  }

  /** How the rows of a table in parts are spread over them. */
  public enum Spread {
    /** Row {@code i} is in part {@code i % n}, so that neighbours lie apart. */
    MOD,
    /** Rows lie as in the whole: the first part has the first ones. */
    DIV
  }

  /**
   * The rows of a table in parts that {@code ids} name. Each part looks up its own, where it is.
   */
  public static Output lookup(Scope scope, PartitionedVariable table, Output ids, Spread spread) {
    int n = table.parts().size();
    if (table.axis() != 0) {
      throw MillraceException.invalid(
          "'%s' is cut along axis %d; rows can be looked up in parts along axis 0 only.",
          table.name(), table.axis());
    }
    if (n == 1) {
      return lookup(scope, table.parts().getFirst(), ids);
    }
    Scope s = scope.withSubScope("embedding_lookup");
    Output flat = Reshape.of(s, ids, Const.ints(s, -1));
    Output positions = Range.of(s, ShapeOf.size(s, flat));
    Place place = spread == Spread.MOD ? mod(s, flat, n) : div(s, flat, table, n);
    Output part = Cast.of(s, place.part, DType.INT32);
    List<Output> idsByPart = DynamicPartition.of(s, place.row, part, n);
    List<Output> positionsByPart = DynamicPartition.of(s, positions, part, n);
    List<Output> rows = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      rows.add(lookup(s, table.parts().get(i), idsByPart.get(i)));
    }
    Output stitched = DynamicStitch.of(s, positionsByPart, rows);
    Shape row = table.shape().slice(1, table.shape().rank());
    Output shape = Concat.of(s, List.of(ShapeOf.of(s, ids), Const.ints(s, ints(row))), 0);
    Output result = Reshape.of(s, stitched, shape);
    if (ids.shape().hasRank()) {
      result.refineShape(ids.shape().concat(row));
    }
    return result;
  }

  private record Place(Output part, Output row) {}

  private static Place mod(Scope s, Output ids, int n) {
    Output parts = Const.of(s, ids.dtype(), n);
    return new Place(Arithmetic.floorMod(s, ids, parts), Arithmetic.floorDiv(s, ids, parts));
  }

  /** The first parts are longer by one row where the rows do not come out even. */
  private static Place div(Scope s, Output ids, PartitionedVariable table, int n) {
    long rows = table.shape().dim(0);
    long shorter = rows / n;
    long longer = rows % n;
    Output small = Const.of(s, ids.dtype(), (double) shorter);
    Output large = Const.of(s, ids.dtype(), shorter + 1.0);
    Output extra = Const.of(s, ids.dtype(), (double) longer);
    Output byLarge = Arithmetic.floorDiv(s, ids, large);
    Output bySmall = Arithmetic.floorDiv(s, Arithmetic.sub(s, ids, extra), small);
    Output part = Arithmetic.maximum(s, byLarge, bySmall);
    Output start =
        Arithmetic.add(s, Arithmetic.mul(s, part, small), Arithmetic.minimum(s, part, extra));
    return new Place(part, Arithmetic.sub(s, ids, start));
  }

  private static int[] ints(Shape shape) {
    int[] dims = new int[shape.rank()];
    for (int i = 0; i < dims.length; i++) {
      dims[i] = Math.toIntExact(shape.dim(i));
    }
    return dims;
  }
}
