package dev.millrace.train.layers;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.train.variable.GraphVariable;

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
}
