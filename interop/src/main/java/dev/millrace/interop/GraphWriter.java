package dev.millrace.interop;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.OpDef;
import dev.millrace.proto.VersionDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Writes a GraphDef node by node from TensorFlow's own op definitions, so that a test needs no
 * graph library: attributes that follow from the inputs (types and list lengths) are filled in.
 * Each method returns the name of what it wrote, for use as an input of what comes next; a further
 * output is {@code name:k}, a control input {@code ^name}.
 */
public final class GraphWriter {
  private static final class Registry {
    static final Map<String, OpDef> OPS = new HashMap<>();

    static {
      RealTensorFlow.ops().getOpList().forEach(op -> OPS.put(op.getName(), op));
    }
  }

  /** The producer version of the graphs written: that of TensorFlow 2.18. */
  private static final int PRODUCER = 1994;

  private final GraphDef.Builder graph =
      GraphDef.newBuilder().setVersions(VersionDef.newBuilder().setProducer(PRODUCER));
  private final Map<String, List<DataType>> outputs = new HashMap<>();
  private String device = "";

  /** Whether TensorFlow has an op of this name. */
  public static boolean isDefined(String op) {
    return Registry.OPS.containsKey(op);
  }

  /** TensorFlow's definition of an op. */
  public static OpDef definition(String op) {
    OpDef definition = Registry.OPS.get(op);
    if (definition == null) {
      throw MillraceException.invalid(
          "TensorFlow %s has no op '%s'.", RealTensorFlow.version(), op);
    }
    return definition;
  }

  /**
   * Says that a TensorFlow of this GraphDef version wrote the graph, one that had an op since
   * removed.
   */
  public GraphWriter producer(int version) {
    graph.setVersions(VersionDef.newBuilder().setProducer(version));
    return this;
  }

  /** Adds a function that nodes may call. */
  public GraphWriter function(FunctionDef definition) {
    graph.getLibraryBuilder().addFunction(definition);
    return this;
  }

  /** Puts the nodes to come on this device. */
  public GraphWriter device(String name) {
    device = name;
    return this;
  }

  public String placeholder(String name, DType dtype, Shape shape) {
    return add(name, "Placeholder", Map.of("dtype", dtype, "shape", shape));
  }

  public String constant(String name, Tensor value, String... controls) {
    return add(name, "Const", Map.of("value", value, "dtype", value.dtype()), controls);
  }

  /** The Merge at the head of a loop; {@code next} is written later, by its body. */
  public String merge(String name, String enter, String next) {
    return merge(name, "Merge", enter, next);
  }

  /** The same with an op of its own: Merge or RefMerge. */
  public String merge(String name, String op, String enter, String next) {
    outputs.put(next, List.of(type(enter)));
    return add(name, op, Map.of(), enter, next);
  }

  /**
   * A node. Attributes may be of any Java type {@link #attribute} takes; inputs go to the op's
   * arguments in order, control inputs last.
   */
  public String add(String name, String op, Map<String, ?> attributes, String... inputs) {
    return add(name, op, attributes, Map.of(), inputs);
  }

  /** The same where the lengths of list arguments, by attribute, cannot be told from the inputs. */
  public String add(
      String name,
      String op,
      Map<String, ?> attributes,
      Map<String, Integer> lengths,
      String... inputs) {
    OpDef definition = definition(op);
    Map<String, AttrValue> attrs = new TreeMap<>();
    lengths.forEach((k, v) -> attrs.put(k, attribute(v)));
    attributes.forEach((k, v) -> attrs.put(k, attribute(v)));
    List<DataType> types = new ArrayList<>();
    for (String input : inputs) {
      if (!input.startsWith("^")) {
        types.add(type(input));
      }
    }
    infer(definition, attrs, types);
    graph.addNode(
        NodeDef.newBuilder()
            .setName(name)
            .setOp(op)
            .setDevice(device)
            .addAllInput(List.of(inputs))
            .putAllAttr(attrs));
    outputs.put(name, outputTypes(definition, attrs));
    return name;
  }

  /** How many outputs a node written earlier has. */
  public int outputs(String name) {
    return outputs.get(name).size();
  }

  /** The element type of an output written earlier. */
  public DType dtype(String output) {
    return DType.of(type(output).getNumber());
  }

  public GraphDef build() {
    return graph.build();
  }

  /** A Java value as an attribute. Lists must not be empty unless given as an AttrValue. */
  public static AttrValue attribute(Object value) {
    AttrValue.Builder a = AttrValue.newBuilder();
    return switch (value) {
      case AttrValue v -> v;
      case Boolean v -> a.setB(v).build();
      case Integer v -> a.setI(v).build();
      case Long v -> a.setI(v).build();
      case Float v -> a.setF(v).build();
      case Double v -> a.setF(v.floatValue()).build();
      case String v -> a.setS(ByteString.copyFromUtf8(v)).build();
      case DType v -> a.setType(DataType.forNumber(v.number())).build();
      case Shape v -> a.setShape(TensorProtos.of(v)).build();
      case Tensor v -> a.setTensor(TensorProtos.of(v)).build();
      case List<?> v -> a.setList(list(v)).build();
      default -> throw new IllegalArgumentException("an attribute of " + value.getClass());
    };
  }

  private static AttrValue.ListValue list(List<?> values) {
    AttrValue.ListValue.Builder list = AttrValue.ListValue.newBuilder();
    for (Object value : values) {
      switch (value) {
        case Boolean v -> list.addB(v);
        case Integer v -> list.addI(v);
        case Long v -> list.addI(v);
        case Float v -> list.addF(v);
        case String v -> list.addS(ByteString.copyFromUtf8(v));
        case DType v -> list.addType(DataType.forNumber(v.number()));
        case Shape v -> list.addShape(TensorProtos.of(v));
        default -> throw new IllegalArgumentException("a list of " + value.getClass());
      }
    }
    return list.build();
  }

  private DataType type(String input) {
    int colon = input.lastIndexOf(':');
    String node = colon < 0 ? input : input.substring(0, colon);
    int index = colon < 0 ? 0 : Integer.parseInt(input.substring(colon + 1));
    List<DataType> types = outputs.get(node);
    if (types == null || index >= types.size()) {
      throw MillraceException.invalid("No output '%s' was written before.", input);
    }
    return types.get(index);
  }

  /** Sets the attributes that follow from the types of the inputs. */
  private static void infer(OpDef op, Map<String, AttrValue> attrs, List<DataType> types) {
    int next = 0;
    for (int i = 0; i < op.getInputArgCount(); i++) {
      OpDef.ArgDef arg = op.getInputArg(i);
      int count = 1;
      if (!arg.getNumberAttr().isEmpty() || !arg.getTypeListAttr().isEmpty()) {
        // A list takes what the arguments after it leave, unless its length was given.
        String attr = arg.getNumberAttr();
        AttrValue listed = attrs.get(arg.getTypeListAttr());
        count =
            attrs.containsKey(attr)
                ? (int) attrs.get(attr).getI()
                : listed != null
                    ? listed.getList().getTypeCount()
                    : types.size() - next - (op.getInputArgCount() - i - 1);
      }
      List<DataType> own = types.subList(next, next + count);
      next += count;
      if (!arg.getNumberAttr().isEmpty()) {
        attrs.putIfAbsent(arg.getNumberAttr(), attribute(count));
      }
      if (!arg.getTypeListAttr().isEmpty()) {
        attrs.putIfAbsent(
            arg.getTypeListAttr(),
            AttrValue.newBuilder()
                .setList(AttrValue.ListValue.newBuilder().addAllType(own))
                .build());
      } else if (!arg.getTypeAttr().isEmpty() && !own.isEmpty()) {
        attrs.putIfAbsent(
            arg.getTypeAttr(), AttrValue.newBuilder().setType(own.getFirst()).build());
      }
    }
  }

  private static List<DataType> outputTypes(OpDef op, Map<String, AttrValue> attrs) {
    List<DataType> types = new ArrayList<>();
    for (OpDef.ArgDef arg : op.getOutputArgList()) {
      if (!arg.getTypeListAttr().isEmpty()) {
        types.addAll(value(op, attrs, arg.getTypeListAttr()).getList().getTypeList());
        continue;
      }
      DataType type =
          arg.getTypeAttr().isEmpty()
              ? arg.getType()
              : value(op, attrs, arg.getTypeAttr()).getType();
      long count = arg.getNumberAttr().isEmpty() ? 1 : value(op, attrs, arg.getNumberAttr()).getI();
      for (long i = 0; i < count; i++) {
        types.add(type);
      }
    }
    return types;
  }

  private static AttrValue value(OpDef op, Map<String, AttrValue> attrs, String name) {
    AttrValue given = attrs.get(name);
    if (given != null) {
      return given;
    }
    for (OpDef.AttrDef attr : op.getAttrList()) {
      if (attr.getName().equals(name)) {
        return attr.getDefaultValue();
      }
    }
    return AttrValue.getDefaultInstance();
  }
}
