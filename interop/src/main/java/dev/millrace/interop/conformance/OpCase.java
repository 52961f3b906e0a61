package dev.millrace.interop.conformance;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.proto.GraphDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * One op with attributes and inputs, and what is to be compared of it. Made by a {@link CaseTable};
 * the methods that change it return it and are for the table alone.
 */
public final class OpCase {
  /** The name of the node with the op. */
  static final String NODE = "op";

  private final String op;
  private final List<Tensor> inputs;
  private final Map<String, Object> attributes = new TreeMap<>();
  private final Set<Integer> fixed = new HashSet<>();
  private final Set<Integer> unchecked = new HashSet<>();
  private final Set<Integer> noGradient = new HashSet<>();
  private Code error = Code.OK;
  private Knowledge known = Knowledge.NOTHING;
  private double slack = 1;
  private boolean differentiable = true;
  private boolean tensorFlowsGradient = true;
  private boolean random;
  private boolean open;
  private int producer;
  private boolean summary;
  private boolean otherValues;

  OpCase(String op, List<Tensor> inputs) {
    this.op = op;
    this.inputs = inputs;
  }

  /**
   * The same case with other inputs, without gradients, where TensorFlow alone says whether it
   * succeeds.
   */
  public OpCase like(List<Tensor> others) {
    OpCase c = new OpCase(op, others);
    c.attributes.putAll(attributes);
    c.fixed.addAll(fixed);
    c.unchecked.addAll(unchecked);
    c.slack = slack;
    c.differentiable = false;
    c.random = random;
    c.open = true;
    c.producer = producer;
    c.summary = summary;
    return c;
  }

  /** Nothing but the values is other than in a case there is: before running all is known of it. */
  public OpCase otherValues() {
    otherValues = true;
    return this;
  }

  /** An attribute that does not follow from the inputs. */
  public OpCase with(String attribute, Object value) {
    attributes.put(attribute, value);
    return this;
  }

  /** Inputs known when the graph is built, as constants: shapes, axes, permutations. */
  public OpCase fixed(int... indices) {
    for (int i : indices) {
      fixed.add(i);
    }
    return this;
  }

  /** Outputs whose values are the engine's own business. */
  public OpCase unchecked(int... outputs) {
    for (int i : outputs) {
      unchecked.add(i);
    }
    return this;
  }

  /** Both engines must fail with this code at the latest when the graph runs. */
  public OpCase fails(Code code) {
    error = code;
    return this;
  }

  /** Both engines must fail with this code where the graph tells the shapes of its inputs. */
  public OpCase refused(Code code) {
    known = Knowledge.SHAPES;
    return fails(code);
  }

  /** The op is gone from graphs of this GraphDef version on; the case's graph is older. */
  public OpCase removedIn(int version) {
    producer = version - 1;
    return this;
  }

  /** Compares values this many times more loosely. */
  public OpCase slack(double factor) {
    slack = factor;
    return this;
  }

  /** Leaves out gradients: there are none, or the inputs lie where they are not defined. */
  public OpCase noGradient() {
    differentiable = false;
    return this;
  }

  /** Trusts finite differences alone: TensorFlow's own gradient in C++ is wrong here. */
  public OpCase gradientByDifferences() {
    tensorFlowsGradient = false;
    return this;
  }

  /** Leaves out the gradients by these inputs. */
  public OpCase noGradientBy(int... indices) {
    for (int i : indices) {
      noGradient.add(i);
    }
    return this;
  }

  /** Compares types and shapes only. */
  public OpCase random() {
    random = true;
    differentiable = false;
    return this;
  }

  /** The output is a serialized Summary, compared by what it says rather than byte by byte. */
  public OpCase summary() {
    summary = true;
    differentiable = false;
    return this;
  }

  /** The op's name. */
  public String op() {
    return op;
  }

  /** What both engines must fail with; OK where they must not, or where that is open. */
  public Code error() {
    return error;
  }

  /** Whether it is for TensorFlow to say if the case fails. */
  public boolean isOpen() {
    return open;
  }

  /**
   * What the graph says when the case is run. Where it must fail that is nothing, so that both
   * engines have to find out from the values.
   */
  public Knowledge known() {
    return error == Code.OK ? Knowledge.SHAPES : known;
  }

  /** Whether what can be known before running is compared in another case. */
  public boolean isOfOtherValues() {
    return otherValues;
  }

  public double slack() {
    return slack;
  }

  public List<Tensor> inputs() {
    return inputs;
  }

  public Map<String, Object> attributes() {
    return attributes;
  }

  /** Whether an input is known when the graph is built. */
  public boolean isFixed(int input) {
    return fixed.contains(input);
  }

  public boolean isRandom() {
    return random;
  }

  public boolean isSummary() {
    return summary;
  }

  public boolean isChecked(int output) {
    return !random && !unchecked.contains(output);
  }

  /** The inputs gradients are compared by. */
  public List<Integer> gradientInputs() {
    List<Integer> by = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      DType dtype = inputs.get(i).dtype();
      boolean exact = dtype == DType.FLOAT || dtype == DType.DOUBLE;
      if (differentiable && exact && !fixed.contains(i) && !noGradient.contains(i)) {
        by.add(i);
      }
    }
    return by;
  }

  /** Whether TensorFlow's own gradient may be asked; of axes of 64 bits it ends the process. */
  public boolean isTensorFlowsGradientSound() {
    return tensorFlowsGradient
        && fixed.stream().noneMatch(i -> inputs.get(i).dtype() == DType.INT64);
  }

  public static String input(int index) {
    return "in" + index;
  }

  /** What a graph says of its inputs before it runs. */
  public enum Knowledge {
    /** The shape of every input, the value of the fixed ones. */
    SHAPES,
    /** The same, but only the rank of those fed. */
    RANKS,
    /** Nothing of those fed. */
    VALUES_ONLY,
    /** The shape of every input and no value. */
    NO_VALUES,
    /** Nothing at all. */
    NOTHING
  }

  /** A graph with placeholders, constants and the op. */
  public GraphDef graph(Knowledge knowledge) {
    return writer(knowledge).build();
  }

  public GraphWriter writer(Knowledge knowledge) {
    GraphWriter graph = new GraphWriter();
    if (producer != 0) {
      graph.producer(producer);
    }
    String[] names = new String[inputs.size()];
    for (int i = 0; i < names.length; i++) {
      names[i] = input(i);
      Tensor t = inputs.get(i);
      boolean hidden = knowledge == Knowledge.NO_VALUES || knowledge == Knowledge.NOTHING;
      if (fixed.contains(i) && !hidden) {
        graph.constant(names[i], t);
      } else {
        graph.placeholder(names[i], t.dtype(), told(t.shape(), knowledge));
      }
    }
    graph.add(NODE, op, attributes, names);
    return graph;
  }

  /** The values of the placeholders of {@link #graph}. */
  public Map<String, Tensor> feeds(Knowledge knowledge) {
    Map<String, Tensor> feeds = new LinkedHashMap<>();
    for (int i = 0; i < inputs.size(); i++) {
      boolean hidden = knowledge == Knowledge.NO_VALUES || knowledge == Knowledge.NOTHING;
      if (!fixed.contains(i) || hidden) {
        feeds.put(input(i) + ":0", inputs.get(i));
      }
    }
    return feeds;
  }

  private static Shape told(Shape shape, Knowledge knowledge) {
    return switch (knowledge) {
      case SHAPES, NO_VALUES -> shape;
      case RANKS -> Shape.unknownOfRank(shape.rank());
      case VALUES_ONLY, NOTHING -> Shape.unknown();
    };
  }

  /** The op, its attributes, and the types and shapes of its inputs. */
  @Override
  public String toString() {
    StringBuilder s = new StringBuilder(op).append('(');
    for (int i = 0; i < inputs.size(); i++) {
      Tensor t = inputs.get(i);
      s.append(i == 0 ? "" : ", ");
      s.append(fixed.contains(i) || t.elements() <= 4 ? t : t.dtype() + t.shape().toString());
    }
    return s.append(')').append(attributes.isEmpty() ? "" : " " + attributes).toString();
  }
}
