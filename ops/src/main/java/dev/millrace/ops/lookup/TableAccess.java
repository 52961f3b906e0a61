package dev.millrace.ops.lookup;

import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.state.HandleKind;
import dev.millrace.tensor.Shape;
import java.util.ArrayList;
import java.util.List;

/** The ops that read and change a table, by either kind of handle. */
final class TableAccess {
  private static final String WHY = "a table is no function that could be differentiated";

  static final List<Op> ALL = define();

  private TableAccess() {}

  private static List<Op> define() {
    List<Op> ops = new ArrayList<>();
    for (HandleKind kind : HandleKind.values()) {
      ops.add(find(kind));
      ops.add(
          insert(kind, "LookupTableInsert")
              .kernel(c -> table(kind, c).insert(c, c.input(1), c.input(2)))
              .build());
      ops.add(
          insert(kind, "LookupTableImport")
              .kernel(c -> TableInitializers.load(c, table(kind, c), c.input(1), c.input(2)))
              .build());
      ops.add(size(kind));
      ops.add(export(kind));
    }
    ops.add(
        op(HandleKind.RESOURCE, "LookupTableRemove")
            .attr("Tin: type")
            .input("table_handle: resource")
            .input("keys: Tin")
            .shape(Shapes.none())
            .kernel(c -> table(HandleKind.RESOURCE, c).remove(c, c.input(1)))
            .build());
    return List.copyOf(ops);
  }

  private static Op.Builder op(HandleKind kind, String name) {
    return kind.using(Op.define(kind == HandleKind.RESOURCE ? name + "V2" : name)).noGradient(WHY);
  }

  static LookupTable table(HandleKind kind, KernelContext c) {
    return kind.resource(c, LookupTable.class);
  }

  private static Op find(HandleKind kind) {
    return op(kind, "LookupTableFind")
        .attr("Tin: type")
        .attr("Tout: type")
        .input("table_handle: " + kind.type)
        .input("keys: Tin")
        .input("default_value: Tout")
        .output("values: Tout")
        .shape(c -> List.of(TableHandles.valuesFor(c.node().input(0), c.input(1))))
        .kernel(c -> table(kind, c).find(c, c.input(1), c.input(2)))
        .build();
  }

  private static Op.Builder insert(HandleKind kind, String name) {
    return op(kind, name)
        .attr("Tin: type")
        .attr("Tout: type")
        .input("table_handle: " + kind.type)
        .input("keys: Tin")
        .input("values: Tout")
        .shape(Shapes.none());
  }

  private static Op size(HandleKind kind) {
    return op(kind, "LookupTableSize")
        .input("table_handle: " + kind.type)
        .output("size: int64")
        .shape(Shapes.scalar())
        .kernel(c -> c.allocate(0, Shape.scalar()).setLong(0, table(kind, c).size()))
        .build();
  }

  private static Op export(HandleKind kind) {
    return op(kind, "LookupTableExport")
        .attr("Tkeys: type")
        .attr("Tvalues: type")
        .input("table_handle: " + kind.type)
        .output("keys: Tkeys")
        .output("values: Tvalues")
        .shape(c -> TableHandles.exported(c.node().input(0)))
        .kernel(c -> table(kind, c).export(c))
        .build();
  }
}
