package dev.millrace.wire;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrSpec;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpRegistry;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.OpDef;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The nodes and edges of a function, with the attributes of one call.
 *
 * <p>Threading: immutable.
 */
final class FunctionBody {
  /**
   * Ops that TensorFlow marks as stateful because of what they read, although they have no effect.
   */
  private static final Set<String> WITHOUT_EFFECT =
      Set.of(
          "ReadVariableOp",
          "VarHandleOp",
          "VarIsInitializedOp",
          "VariableShape",
          "ResourceGather",
          "ResourceGatherNd",
          "RandomUniform",
          "RandomUniformInt",
          "RandomStandardNormal",
          "TruncatedNormal",
          "RandomShuffle",
          "Multinomial");

  private final FunctionDef function;
  private final Map<String, AttrValue> attrs;
  private final OpRegistry registry;
  private final Map<String, FunctionDef> functions;
  private final Map<String, NodeDef> byName = new HashMap<>();

  FunctionBody(
      FunctionDef function,
      Map<String, AttrValue> attrs,
      OpRegistry registry,
      Map<String, FunctionDef> functions) {
    this.function = function;
    this.attrs = attrs;
    this.registry = registry;
    this.functions = functions;
    function.getNodeDefList().forEach(n -> byName.put(n.getName(), n));
  }

  /** Whether running this op has an effect beyond its outputs. */
  static boolean hasEffect(Op op) {
    return op != null && op.isStateful() && !WITHOUT_EFFECT.contains(op.name());
  }

  /** The control-flow role of a node, if any. */
  Op.Role role(NodeDef n) {
    Op op = registry.find(n.getOp());
    return op == null ? Op.Role.ORDINARY : op.role();
  }

  private String name() {
    return function.getSignature().getName();
  }

  List<String> arguments() {
    return function.getSignature().getInputArgList().stream().map(OpDef.ArgDef::getName).toList();
  }

  /** The edges of the results, in the notation of function bodies. */
  List<String> results() {
    return function.getSignature().getOutputArgList().stream()
        .map(
            a -> {
              String ref = function.getRetMap().get(a.getName());
              if (ref == null) {
                throw MillraceException.invalid(
                    "Function '%s' does not say where its result '%s' comes from.",
                    name(), a.getName());
              }
              return ref;
            })
        .toList();
  }

  DataType argumentType(int i) {
    return type(function.getSignature().getInputArg(i));
  }

  DataType resultType(int i) {
    return type(function.getSignature().getOutputArg(i));
  }

  private DataType type(OpDef.ArgDef a) {
    return a.getTypeAttr().isEmpty()
        ? a.getType()
        : attrs.getOrDefault(a.getTypeAttr(), AttrValue.getDefaultInstance()).getType();
  }

  /** The nodes that a caller must wait for. */
  List<String> controlResults() {
    return function.getControlRetMap().values().stream()
        .sorted()
        .filter(byName::containsKey)
        .toList();
  }

  /** The nodes, with placeholders replaced by the attributes of the call. */
  List<NodeDef> nodes() {
    return function.getNodeDefList().stream().map(this::filled).toList();
  }

  private NodeDef filled(NodeDef n) {
    NodeDef.Builder b = n.toBuilder();
    n.getAttrMap()
        .forEach(
            (k, v) -> {
              if (v.getValueCase() == AttrValue.ValueCase.PLACEHOLDER
                  && attrs.containsKey(v.getPlaceholder())) {
                b.putAttr(k, attrs.get(v.getPlaceholder()));
              }
            });
    return b.build();
  }

  /** An edge of the body as one of a graph: {@code node:result:i} becomes {@code node:i}. */
  String flat(String edge, String prefix, Map<String, String> arguments) {
    if (edge.startsWith("^")) {
      String to = edge.substring(1);
      String argument = arguments.get(to);
      return "^" + (argument != null ? argument : prefix + to);
    }
    String argument = arguments.get(edge);
    if (argument != null) {
      return argument;
    }
    String[] parts = edge.split(":", -1);
    NodeDef source = byName.get(parts[0]);
    if (source == null) {
      throw MillraceException.invalid(
          "Function '%s' has an edge from '%s', which is neither a node nor an argument of it.",
          name(), edge);
    }
    int index = 0;
    try {
      index = parts.length < 3 ? 0 : Integer.parseInt(parts[2]);
    } catch (NumberFormatException e) {
      throw MillraceException.invalid(
          "Function '%s': '%s' is not an edge of the form node:result:index.", name(), edge);
    }
    index += parts.length < 2 ? 0 : start(filled(source), parts[1]);
    return prefix + source.getName() + ":" + index;
  }

  /** The number of the first output that belongs to the result of that name. */
  private int start(NodeDef n, String result) {
    Op op = registry.find(n.getOp());
    if (op == null) {
      FunctionDef callee = functions.get(n.getOp());
      if (callee == null) {
        return 0; // One of the calls themselves, whose outputs are a single list.
      }
      List<OpDef.ArgDef> out = callee.getSignature().getOutputArgList();
      for (int i = 0; i < out.size(); i++) {
        if (out.get(i).getName().equals(result)) {
          return i;
        }
      }
      throw unknown(n, result);
    }
    Map<String, dev.millrace.graph.AttrValue> decoded = new HashMap<>();
    for (AttrSpec spec : op.attrs().values()) {
      AttrValue given = n.getAttrMap().get(spec.name());
      if (given != null && (spec.kind().equals("int") || spec.kind().equals("list(type)"))) {
        decoded.put(spec.name(), AttrCodec.decode(given));
      } else if (spec.defaultValue() != null) {
        decoded.put(spec.name(), spec.defaultValue());
      }
    }
    int at = 0;
    for (Op.Arg a : op.outputs()) {
      if (a.name().equals(result)) {
        return at;
      }
      at += a.count(decoded);
    }
    throw unknown(n, result);
  }

  private MillraceException unknown(NodeDef n, String result) {
    return MillraceException.invalid(
        "Function '%s': %s '%s' has no result '%s'.", name(), n.getOp(), n.getName(), result);
  }

  /** Renames colocations with nodes of the body; removes others, which have no meaning here. */
  void fixColocation(NodeDef.Builder node, String prefix) {
    AttrValue given = node.getAttrMap().get("_class");
    if (given == null) {
      return;
    }
    AttrValue.ListValue.Builder list = AttrValue.ListValue.newBuilder();
    for (ByteString s : given.getList().getSList()) {
      String text = s.toStringUtf8();
      if (text.startsWith("loc:@") && byName.containsKey(text.substring(5))) {
        list.addS(ByteString.copyFromUtf8("loc:@" + prefix + text.substring(5)));
      }
    }
    if (list.getSCount() == 0) {
      node.removeAttr("_class");
    } else {
      node.putAttr("_class", AttrValue.newBuilder().setList(list).build());
    }
  }
}
