package dev.millrace.graph;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * A node of a graph: its op, name, inputs, attributes and requested device. Attributes that the
 * builder did not set have the op's defaults.
 *
 * <p>Threading: immutable once added, except for the back edges of a loop, which are set while the
 * graph is being built.
 */
public final class Node {
  private final Graph graph;
  private final int id;
  private final String name;
  private final Op op;
  private final String device;
  private final Map<String, AttrValue> attrs;
  private final Output[] inputs;
  private final List<Node> controlInputs;
  private final Output[] outputs;
  private final Region region;

  Node(
      Graph graph,
      int id,
      String name,
      Op op,
      String device,
      Map<String, AttrValue> attrs,
      List<Output> inputs,
      List<Node> controlInputs) {
    this.graph = graph;
    this.id = id;
    this.name = name;
    this.op = op;
    this.device = device;
    this.attrs = attrs;
    this.inputs = inputs.toArray(new Output[0]);
    this.controlInputs = List.copyOf(controlInputs);
    List<Op.TypedArg> types = op.outputTypes(attrs);
    this.outputs = new Output[types.size()];
    for (int i = 0; i < outputs.length; i++) {
      outputs[i] = new Output(this, i, types.get(i).dtype(), types.get(i).isRef());
    }
    this.region = Region.of(this);
  }

  /** The graph it is in. */
  public Graph graph() {
    return graph;
  }

  /** The loops and branches it runs in. */
  public Region region() {
    return region;
  }

  /** Its position in the order in which nodes were added. */
  public int id() {
    return id;
  }

  /** Its name, which no other node of the graph has. */
  public String name() {
    return name;
  }

  /** The op that it runs. */
  public Op op() {
    return op;
  }

  /** The requested device, possibly partial or empty. */
  public String device() {
    return device;
  }

  /** Its attributes by name, defaults included. */
  public Map<String, AttrValue> attrs() {
    return Collections.unmodifiableMap(attrs);
  }

  /** How many inputs it has, control inputs not counted. */
  public int inputCount() {
    return inputs.length;
  }

  /** Data input {@code i}; null only for a loop's back edge that is not connected yet. */
  public Output input(int i) {
    return inputs[i];
  }

  /** The data inputs in order. */
  public List<Output> inputs() {
    return Collections.unmodifiableList(java.util.Arrays.asList(inputs));
  }

  /** The nodes that must run before this one. */
  public List<Node> controlInputs() {
    return controlInputs;
  }

  /** How many outputs it has. */
  public int outputCount() {
    return outputs.length;
  }

  /** Output {@code i}. */
  public Output output(int i) {
    if (i < 0 || i >= outputs.length) {
      throw MillraceException.invalid(
          "%s '%s' has %d outputs; there is no output %d.", op.name(), name, outputs.length, i);
    }
    return outputs[i];
  }

  /** The only output. */
  public Output output() {
    if (outputs.length != 1) {
      throw MillraceException.invalid(
          "%s '%s' has %d outputs; name the one that is meant.", op.name(), name, outputs.length);
    }
    return outputs[0];
  }

  /** All its outputs. */
  public List<Output> outputs() {
    return List.of(outputs);
  }

  /** The outputs that belong to the output argument called {@code arg}. */
  public List<Output> outputs(String arg) {
    int from = 0;
    for (Op.Arg a : op.outputs()) {
      int n = a.count(attrs);
      if (a.name().equals(arg)) {
        return List.of(outputs).subList(from, from + n);
      }
      from += n;
    }
    throw MillraceException.invalid("%s has no output called '%s'.", op.name(), arg);
  }

  /** Connects a loop's back edge. */
  void connectBackEdge(int i, Output source) {
    inputs[i] = source;
  }

  // ---- attributes by type ----

  /** Whether it has this attribute. */
  public boolean hasAttr(String attr) {
    return attrs.containsKey(attr);
  }

  /** The value of an attribute, which it must have. */
  public AttrValue attr(String attr) {
    AttrValue v = attrs.get(attr);
    if (v == null) {
      throw MillraceException.invalid("%s '%s' has no attribute '%s'.", op.name(), name, attr);
    }
    return v;
  }

  private <T extends AttrValue> T attr(String attr, Class<T> kind) {
    AttrValue v = attr(attr);
    if (!kind.isInstance(v)) {
      throw MillraceException.invalid(
          "%s '%s': attribute '%s' is %s, which is not of kind %s.",
          op.name(), name, attr, v, kind.getSimpleName());
    }
    return kind.cast(v);
  }

  /** The attribute as a bool. */
  public boolean booleanAttr(String attr) {
    return attr(attr, AttrValue.Bool.class).value();
  }

  /** The attribute as a whole number. */
  public long longAttr(String attr) {
    return attr(attr, AttrValue.Int.class).value();
  }

  /** The attribute as an int. */
  public int intAttr(String attr) {
    return Math.toIntExact(longAttr(attr));
  }

  /** The attribute as a float. */
  public float floatAttr(String attr) {
    return attr(attr, AttrValue.Real.class).value();
  }

  /** The attribute as text. */
  public String stringAttr(String attr) {
    return attr(attr, AttrValue.Str.class).text();
  }

  /** The attribute as a type. */
  public DType typeAttr(String attr) {
    return attr(attr, AttrValue.Type.class).value();
  }

  /** The attribute as a shape. */
  public Shape shapeAttr(String attr) {
    return attr(attr, AttrValue.Dims.class).value();
  }

  /** The attribute as a tensor, which the node owns. */
  public Tensor tensorAttr(String attr) {
    return attr(attr, AttrValue.Value.class).value();
  }

  /** The attribute as a function. */
  public AttrValue.Func functionAttr(String attr) {
    return attr(attr, AttrValue.Func.class);
  }

  /** The attribute as a list. */
  public List<AttrValue> listAttr(String attr) {
    return attr(attr, AttrValue.Many.class).values();
  }

  /** The attribute as whole numbers. */
  public long[] longsAttr(String attr) {
    return listAttr(attr).stream().mapToLong(v -> ((AttrValue.Int) v).value()).toArray();
  }

  /** The attribute as types. */
  public List<DType> typesAttr(String attr) {
    return listAttr(attr).stream().map(v -> ((AttrValue.Type) v).value()).toList();
  }

  /** The attribute as shapes. */
  public List<Shape> shapesAttr(String attr) {
    return listAttr(attr).stream().map(v -> ((AttrValue.Dims) v).value()).toList();
  }

  /** The attribute as texts. */
  public List<String> stringsAttr(String attr) {
    return listAttr(attr).stream().map(v -> ((AttrValue.Str) v).text()).toList();
  }

  /** The nodes this one asks to be colocated with, from its {@code _class} attribute. */
  public List<String> colocations() {
    if (!(attrs.get("_class") instanceof AttrValue.Many list)) {
      return List.of();
    }
    List<String> names = new ArrayList<>();
    for (AttrValue v : list.values()) {
      if (v instanceof AttrValue.Str s && s.text().startsWith("loc:@")) {
        names.add(s.text().substring(5));
      }
    }
    return names;
  }

  /** TensorFlow's short form: {@code name = Op(input, input)}. */
  @Override
  public String toString() {
    StringBuilder s = new StringBuilder(name).append(" = ").append(op.name()).append('(');
    String separator = "";
    for (Output in : inputs) {
      s.append(separator).append(in == null ? "?" : in.inputName());
      separator = ", ";
    }
    for (Node c : controlInputs) {
      s.append(separator).append('^').append(c.name());
      separator = ", ";
    }
    return s.append(')').toString();
  }
}
