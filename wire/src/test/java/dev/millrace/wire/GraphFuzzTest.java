package dev.millrace.wire;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrSpec;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Op;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.TensorProto;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Graphs of any ops, with any attributes and any edges, are either taken in or refused with a
 * message that names the node: nothing else is thrown, soon and without much memory. {@code
 * -Dmillrace.fuzz.seconds} says how long to try, {@code -Dmillrace.seed} where to begin.
 */
class GraphFuzzTest {
  private static final long NANOS =
      (long) (1e9 * Double.parseDouble(System.getProperty("millrace.fuzz.seconds", "4")));

  private static final long SEED = Long.getLong("millrace.seed", 20_27);

  /** One graph may take this long on a busy machine. */
  private static final long SLOW_NANOS = 10_000_000_000L;

  private static final long MUCH_BYTES = 2L << 30;

  private static final long[] NUMBERS = {
    0,
    1,
    -1,
    2,
    3,
    4,
    7,
    -2,
    16,
    1000,
    1 << 20,
    Integer.MAX_VALUE,
    Integer.MIN_VALUE,
    1L << 32,
    1L << 40,
    Long.MAX_VALUE,
    Long.MIN_VALUE
  };

  private static final List<DType> TYPES =
      List.of(
          DType.FLOAT,
          DType.FLOAT,
          DType.INT32,
          DType.INT64,
          DType.BOOL,
          DType.STRING,
          DType.DOUBLE,
          DType.HALF,
          DType.RESOURCE,
          DType.VARIANT,
          DType.COMPLEX64,
          DType.UINT8);

  private static final List<String> WORDS =
      List.of("", "SAME", "VALID", "EXPLICIT", "NHWC", "NCHW", "MEAN", "x", "\0", "*", "[");

  private static final int SOURCES = 10;

  /** What the sources of the graph being made give. */
  private final DType[] sourceTypes = new DType[SOURCES];

  private Random random;

  @Test
  void anyGraphIsTakenInOrRefused() {
    System.out.println("graphs from -Dmillrace.seed=" + SEED + " on");
    long end = System.nanoTime() + NANOS;
    int count = 0;
    int taken = 0;
    for (long seed = SEED; System.nanoTime() < end; seed++) {
      random = new Random(seed);
      GraphDef def = graph();
      long start = System.nanoTime();
      try {
        Graph g = StandardOps.newGraph();
        GraphCodec.importInto(def, g, true);
        GraphCodec.encode(g);
        taken++;
      } catch (MillraceException e) {
        assertTrue(
            e.getMessage().matches("(?s).*'n\\d+.*"),
            "-Dmillrace.seed=" + seed + ": no node is named: " + e.getMessage());
      } catch (Throwable t) {
        fail("-Dmillrace.seed=" + seed + " breaks it:\n" + def, t);
      }
      long took = System.nanoTime() - start;
      assertTrue(took < SLOW_NANOS, "-Dmillrace.seed=" + seed + " takes " + took + " ns");
      count++;
    }
    long bytes = BufferPool.current().nativeBytes();
    assertTrue(bytes < MUCH_BYTES, () -> "the graphs took " + bytes + " bytes");
    assertTrue(count > 20 && taken > 0, count + " graphs were tried, " + taken + " taken in");
  }

  private int upTo(int n) {
    return random.nextInt(n);
  }

  private <T> T one(List<T> list) {
    return list.get(upTo(list.size()));
  }

  /** Some sources, and some nodes that use them and each other, rarely in a cycle. */
  private GraphDef graph() {
    GraphDef.Builder g = GraphDef.newBuilder();
    int nodes = SOURCES + 1 + upTo(8);
    for (int i = 0; i < nodes; i++) {
      g.addNode(i < SOURCES ? source(i) : node(i, nodes));
    }
    return g.build();
  }

  private NodeDef source(int i) {
    NodeDef.Builder n = NodeDef.newBuilder().setName("n" + i);
    DType type = one(TYPES);
    sourceTypes[i] = type;
    if (upTo(2) == 0 || !(type == DType.INT32 || type == DType.INT64 || type == DType.FLOAT)) {
      return n.setOp("Placeholder")
          .putAttr("dtype", AttrValue.newBuilder().setType(proto(type)).build())
          .putAttr("shape", AttrValue.newBuilder().setShape(shape()).build())
          .build();
    }
    Shape shape = upTo(2) == 0 ? Shape.scalar() : Shape.of(1 + upTo(4));
    Tensor t = Tensor.allocate(type, shape);
    for (long k = 0; k < t.elements(); k++) {
      t.setDouble(k, upTo(4) == 0 ? one(NUMBERS) : upTo(6) - 2.0);
    }
    return n.setOp("Const")
        .putAttr("dtype", AttrValue.newBuilder().setType(proto(type)).build())
        .putAttr("value", AttrValue.newBuilder().setTensor(TensorCodec.encode(t)).build())
        .build();
  }

  private long one(long[] values) {
    return values[upTo(values.length)];
  }

  private static DataType proto(DType type) {
    return DataType.forNumber(type.number());
  }

  /** A node whose inputs and attributes go together more often than not. */
  private NodeDef node(int i, int nodes) {
    Op op = one(StandardOps.ALL);
    NodeDef.Builder n = NodeDef.newBuilder().setName("n" + i).setOp(op.name());
    for (AttrSpec spec : op.attrs().values()) {
      if (spec.defaultValue() == null || upTo(3) == 0) {
        n.putAttr(spec.name(), attr(spec));
      }
    }
    for (Op.Arg arg : op.inputs()) {
      int count = arg.numberAttr() != null || arg.typeListAttr() != null ? 1 + upTo(3) : 1;
      AttrValue.ListValue.Builder types = AttrValue.ListValue.newBuilder();
      for (int k = 0; k < count; k++) {
        int source = upTo(40) == 0 ? upTo(nodes) : sourceOf(wanted(n, arg));
        n.addInput("n" + source + (upTo(30) == 0 ? ":" + upTo(3) : ""));
        types.addType(proto(source < SOURCES ? sourceTypes[source] : one(TYPES)));
      }
      if (upTo(20) != 0) {
        if (arg.numberAttr() != null) {
          n.putAttr(arg.numberAttr(), AttrValue.newBuilder().setI(count).build());
        }
        if (arg.typeAttr() != null) {
          n.putAttr(arg.typeAttr(), AttrValue.newBuilder().setType(types.getType(0)).build());
        }
        if (arg.typeListAttr() != null) {
          n.putAttr(arg.typeListAttr(), AttrValue.newBuilder().setList(types).build());
        }
      }
    }
    if (upTo(8) == 0) {
      n.addInput("^n" + upTo(nodes));
    }
    return n.build();
  }

  private static DType wanted(NodeDef.Builder n, Op.Arg arg) {
    if (arg.typeAttr() == null || !n.containsAttr(arg.typeAttr())) {
      return arg.type();
    }
    int number = n.getAttrOrThrow(arg.typeAttr()).getTypeValue();
    return number == 0 ? null : DType.of(number);
  }

  /** A source of this type, if there is one; any if none is wanted. */
  private int sourceOf(DType wanted) {
    int from = upTo(SOURCES);
    for (int k = 0; k < SOURCES; k++) {
      int i = (from + k) % SOURCES;
      if (wanted == null || sourceTypes[i] == wanted) {
        return i;
      }
    }
    return from;
  }

  private AttrValue attr(AttrSpec spec) {
    String kind = upTo(40) == 0 ? one(List.of("int", "type", "string", "shape")) : spec.kind();
    if (!kind.startsWith("list(")) {
      return value(kind, spec);
    }
    String element = kind.substring(5, kind.length() - 1);
    AttrValue.ListValue.Builder list = AttrValue.ListValue.newBuilder();
    int n = upTo(6);
    for (int i = 0; i < n; i++) {
      AttrValue v = value(element, spec);
      switch (element) {
        case "int" -> list.addI(v.getI());
        case "type" -> list.addType(v.getType());
        case "string" -> list.addS(v.getS());
        case "shape" -> list.addShape(v.getShape());
        case "bool" -> list.addB(v.getB());
        case "float" -> list.addF(v.getF());
        default -> {}
      }
    }
    return AttrValue.newBuilder().setList(list).build();
  }

  private AttrValue value(String kind, AttrSpec spec) {
    AttrValue.Builder v = AttrValue.newBuilder();
    return switch (kind) {
      case "int" -> v.setI(upTo(3) == 0 ? one(NUMBERS) : 1 + upTo(3)).build();
      case "float" -> v.setF(upTo(3) == 0 ? Float.NaN : random.nextFloat()).build();
      case "bool" -> v.setB(random.nextBoolean()).build();
      case "type" -> v.setType(proto(type(spec))).build();
      case "string" -> v.setS(ByteString.copyFromUtf8(word(spec))).build();
      case "shape" -> v.setShape(shape()).build();
      case "tensor" ->
          v.setTensor(
                  TensorProto.newBuilder()
                      .setDtype(proto(one(TYPES)))
                      .setTensorShape(TensorCodec.encode(Shape.of(upTo(4), upTo(1000))))
                      .addIntVal(3))
              .build();
      default -> v.build();
    };
  }

  private DType type(AttrSpec spec) {
    List<DType> allowed = new ArrayList<>(spec.allowedTypes());
    return allowed.isEmpty() || upTo(5) == 0 ? one(TYPES) : one(allowed);
  }

  private String word(AttrSpec spec) {
    List<String> allowed = new ArrayList<>(spec.allowedStrings());
    return allowed.isEmpty() || upTo(5) == 0 ? one(WORDS) : one(allowed);
  }

  private TensorShapeProto shape() {
    TensorShapeProto.Builder s = TensorShapeProto.newBuilder();
    int rank = upTo(10) == 0 ? 300 : upTo(5);
    s.setUnknownRank(upTo(8) == 0);
    for (int i = 0; i < rank; i++) {
      s.addDimBuilder().setSize(upTo(4) == 0 ? one(NUMBERS) : upTo(5) - 1);
    }
    return s.build();
  }
}
