package dev.millrace.ops.lookup;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.resource.Resources;
import dev.millrace.ops.state.HandleKind;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;

/** The ops that create a table and output its handle. */
final class TableHandles {
  /** How a table is known: by a name that others may use too, or by its handle alone. */
  private enum Naming {
    REFERENCE(""),
    RESOURCE("V2"),
    ANONYMOUS("");

    final String suffix;

    Naming(String suffix) {
      this.suffix = suffix;
    }
  }

  private static final long MAX_BUCKETS = 1 << 30;

  private static final Map<Op, TableKind> KINDS = new HashMap<>();

  static final List<Op> ALL = define();

  private TableHandles() {}

  private static List<Op> define() {
    List<Op> ops = new ArrayList<>();
    for (TableKind kind : TableKind.values()) {
      for (Naming naming : Naming.values()) {
        if (kind == TableKind.DENSE && naming == Naming.REFERENCE) {
          continue; // TensorFlow defines it and cannot run it.
        }
        Op op = define(kind, naming);
        KINDS.put(op, kind);
        ops.add(op);
      }
    }
    return List.copyOf(ops);
  }

  private static Op define(TableKind kind, Naming naming) {
    boolean isAnonymous = naming == Naming.ANONYMOUS;
    Op.Builder op = Op.define((isAnonymous ? "Anonymous" : "") + kind.label + naming.suffix);
    if (!isAnonymous) {
      op.attr("container: string = ''")
          .attr("shared_name: string = ''")
          .attr("use_node_name_sharing: bool = false");
    }
    op.attr("key_dtype: type").attr("value_dtype: type");
    if (kind == TableKind.OF_TENSORS || kind == TableKind.DENSE) {
      op.attr("value_shape: shape = {}");
    }
    if (kind == TableKind.DENSE) {
      op.attr("initial_num_buckets: int = 131072")
          .attr("max_load_factor: float = 0.8")
          .input("empty_key: key_dtype")
          .input("deleted_key: key_dtype");
    }
    return op.output("table_handle: " + (naming == Naming.REFERENCE ? "Ref(string)" : "resource"))
        .stateful()
        .shape(c -> List.of(naming == Naming.REFERENCE ? Shape.of(2) : Shape.scalar()))
        .kernelPerNode(
            node ->
                isAnonymous
                    ? c -> anonymous(c, kind)
                    : named(
                        node,
                        kind,
                        naming == Naming.REFERENCE ? HandleKind.REFERENCE : HandleKind.RESOURCE))
        .noGradient("a handle is not a number")
        .build();
  }

  private static Kernel named(Node node, TableKind kind, HandleKind handleKind) {
    checkAttributes(node, kind);
    String name = ResourceHandles.nameOf(node);
    String container = node.stringAttr("container");
    Consumer<KernelContext> handle = handleKind.maker(node, kind.label);
    return c -> {
      LookupTable table =
          c.resources().getOrCreate(container, name, LookupTable.class, () -> table(c, kind, name));
      table.spec().checkSame(spec(c, kind, name));
      handle.accept(c);
    };
  }

  /** A new table in every run; it ends with the last copy of its handle. */
  private static void anonymous(KernelContext c, TableKind kind) {
    checkAttributes(c.node(), kind);
    String name = c.node().name() + "-" + UUID.randomUUID();
    LookupTable table = table(c, kind, name);
    Resources resources = c.resources();
    resources.getOrCreate("", name, LookupTable.class, () -> table);
    Object[] handle = {
      new Resources.Handle(c.node().device(), Resources.DEFAULT_CONTAINER, name, kind.label)
    };
    c.output(0, Refs.ofHandles(Shape.scalar(), handle, () -> resources.remove("", name)));
  }

  private static void checkAttributes(Node node, TableKind kind) {
    if (kind == TableKind.DENSE) {
      long buckets = node.longAttr("initial_num_buckets");
      if (Long.bitCount(buckets) != 1 || buckets < 4 || buckets > MAX_BUCKETS) {
        throw MillraceException.invalid(
            "Number of buckets must be at least 4 and a power of 2, got: %d", buckets);
      }
      float load = node.floatAttr("max_load_factor");
      if (!(load > 0 && load < 1)) {
        throw MillraceException.invalid("max_load_factor must be between 0 and 1, got: %s", load);
      }
    }
    if (kind == TableKind.OF_TENSORS && !(node.shapeAttr("value_shape").rank() == 1)) {
      throw MillraceException.invalid(
          "Default value must be a vector, got shape %s", node.shapeAttr("value_shape"));
    }
    if (!valueShape(node, kind).isKnown()) {
      throw MillraceException.invalid(
          "%s '%s': value_shape must be fully known; it is %s.",
          node.op().name(), node.name(), valueShape(node, kind));
    }
  }

  private static TableSpec spec(KernelContext c, TableKind kind, String name) {
    return new TableSpec(
        kind,
        name,
        c.node().typeAttr("key_dtype"),
        c.node().typeAttr("value_dtype"),
        kind == TableKind.DENSE ? c.input(0).shape() : Shape.scalar(),
        valueShape(c.node(), kind));
  }

  private static LookupTable table(KernelContext c, TableKind kind, String name) {
    TableSpec spec = spec(c, kind, name);
    Shape keyShape = spec.keyShape();
    Map<Object, String> reserved = new HashMap<>();
    for (int i = 0; i < c.inputCount(); i++) {
      Tensor key = c.input(i);
      if (keyShape.rank() > 1) {
        throw MillraceException.invalid(
            "Empty key must be a scalar or a vector, got shape %s", key.shape());
      }
      if (!key.shape().equals(keyShape)) {
        throw MillraceException.invalid(
            "Empty and deleted keys must have same shape, got shapes: %s and %s",
            keyShape, key.shape());
      }
      String as = c.node().op().inputs().get(i).name();
      if (reserved.put(Entries.read(key, 0, (int) keyShape.elements()), as) != null) {
        throw MillraceException.invalid("Empty and deleted keys cannot be equal");
      }
    }
    return new LookupTable(spec, store(c, spec), reserved);
  }

  private static TableStore store(KernelContext c, TableSpec spec) {
    if (spec.kind() != TableKind.DENSE) {
      return new TableStore.Mapped();
    }
    int keySize = (int) spec.keyShape().elements();
    return new Buckets(
        c.node().intAttr("initial_num_buckets"),
        c.node().floatAttr("max_load_factor"),
        Entries.read(c.input(0), 0, keySize),
        Entries.read(c.input(1), 0, keySize),
        Entries.zero(spec.values(), Math.toIntExact(spec.valueShape().elements())));
  }

  private static Shape valueShape(Node node, TableKind kind) {
    return kind == TableKind.OF_TENSORS || kind == TableKind.DENSE
        ? node.shapeAttr("value_shape")
        : Shape.scalar();
  }

  /**
   * The shape of the values for keys of shape {@code keys}, as far as the op that gives {@code
   * handle} tells.
   */
  static Shape valuesFor(Output handle, Shape keys) {
    Node maker = handle.node();
    TableKind kind = KINDS.get(maker.op());
    if (kind == null || handle.isRef()) {
      return Shape.unknown();
    }
    Shape keyShape = kind == TableKind.DENSE ? maker.input(0).shape() : Shape.scalar();
    if (!keys.hasRank() || !keyShape.hasRank() || !valueShape(maker, kind).hasRank()) {
      return Shape.unknown();
    }
    int prefix = keys.rank() - keyShape.rank();
    if (prefix < 0) {
      throw MillraceException.invalid(
          "Expected keys to have suffix %s but saw shape: %s", keyShape, keys);
    }
    return keys.slice(0, prefix).concat(valueShape(maker, kind));
  }

  /** The shapes of all keys and all values, as far as the op that gives {@code handle} tells. */
  static List<Shape> exported(Output handle) {
    Node maker = handle.node();
    TableKind kind = KINDS.get(maker.op());
    if (kind == null || handle.isRef()) {
      return List.of(Shape.unknown(), Shape.unknown());
    }
    Shape n = Shape.of(Shape.UNKNOWN);
    Shape value = valueShape(maker, kind);
    return kind == TableKind.DENSE
        ? List.of(Shape.unknownOfRank(2), Shape.unknownOfRank(2))
        : List.of(n, value.hasRank() ? n.concat(value) : Shape.unknown());
  }
}
