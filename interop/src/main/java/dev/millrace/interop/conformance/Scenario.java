package dev.millrace.interop.conformance;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;
import java.util.function.UnaryOperator;

/** A small graph with state, and the steps to run on it, each of whose fetches must agree. */
public final class Scenario {
  /** One step; {@code error} is what it must fail with, OK if it must not. */
  public record Step(
      Map<String, Tensor> feeds, List<String> fetches, List<String> targets, Code error) {}

  /**
   * What is differentiated.
   *
   * @param x the output by which: a value or the handle of a variable
   * @param fed the placeholder its value is fed to
   * @param prepare what is run with the feeds first
   */
  public record Derivative(
      String y, String x, String fed, Map<String, Tensor> feeds, List<String> prepare) {}

  private final String name;
  private final GraphWriter graph = new GraphWriter();
  private final List<Step> steps = new ArrayList<>();
  private final List<Derivative> derivatives = new ArrayList<>();
  private final GraphDef rewritten;
  private double slack = 1;

  Scenario(String name) {
    this(name, null);
  }

  private Scenario(String name, GraphDef rewritten) {
    this.name = name;
    this.rewritten = rewritten;
  }

  /**
   * The same steps on the same graph with another type in place of one, where TensorFlow alone says
   * which of them fail.
   */
  public Scenario retyped(DType from, DType to) {
    return retyped(from, to, "", t -> t);
  }

  /** The same in another type, and with other values where that is. */
  public Scenario retyped(DType from, DType to, String how, UnaryOperator<Tensor> change) {
    return changed(
        ", of " + to + how,
        type -> type == from.number() ? to.number() : type,
        t -> t.dtype() == from ? change.apply(Values.retyped(t, to)) : t);
  }

  /** The same with other values fed and in constants. */
  public Scenario changed(String how, UnaryOperator<Tensor> change) {
    return changed(how, type -> type, change);
  }

  private Scenario changed(String how, IntUnaryOperator types, UnaryOperator<Tensor> change) {
    GraphDef.Builder changed = graphDef().toBuilder();
    for (NodeDef.Builder node : changed.getNodeBuilderList()) {
      Map.copyOf(node.getAttrMap())
          .forEach((attr, value) -> node.putAttr(attr, changed(value, types, change)));
    }
    Scenario other = new Scenario(name + how, changed.build());
    for (Step step : steps) {
      Map<String, Tensor> feeds = new TreeMap<>(step.feeds());
      feeds.replaceAll((k, v) -> change.apply(v));
      other.steps.add(new Step(feeds, step.fetches(), step.targets(), step.error()));
    }
    return other.slack(slack);
  }

  private static AttrValue changed(
      AttrValue value, IntUnaryOperator types, UnaryOperator<Tensor> change) {
    AttrValue.Builder a = value.toBuilder();
    switch (value.getValueCase()) {
      case TYPE -> a.setTypeValue(types.applyAsInt(a.getTypeValue()));
      case LIST -> {
        for (int i = 0; i < value.getList().getTypeCount(); i++) {
          a.getListBuilder().setTypeValue(i, types.applyAsInt(value.getList().getTypeValue(i)));
        }
      }
      case TENSOR -> {
        Tensor t = change.apply(TensorCodec.decode(value.getTensor()));
        a.setTensor(GraphWriter.attribute(t).getTensor());
      }
      default -> {}
    }
    return a.build();
  }

  /** What is fed and what is constant, but for scalars among the constants: those are settings. */
  public List<Tensor> values() {
    List<Tensor> values = new ArrayList<>();
    steps.forEach(step -> values.addAll(step.feeds().values()));
    for (NodeDef node : graphDef().getNodeList()) {
      if (node.getOp().equals("Const")) {
        Tensor t = TensorCodec.decode(node.getAttrOrThrow("value").getTensor());
        if (t.shape().rank() > 0) {
          values.add(t);
        }
      }
    }
    return values;
  }

  /** Whether it is for TensorFlow to say which steps fail. */
  public boolean isOpen() {
    return rewritten != null;
  }

  /** What it is about, beginning with the op. */
  public String name() {
    return name;
  }

  public GraphWriter graph() {
    return graph;
  }

  public GraphDef graphDef() {
    return rewritten != null ? rewritten : graph.build();
  }

  public List<Step> steps() {
    return steps;
  }

  public List<Derivative> derivatives() {
    return derivatives;
  }

  public double slack() {
    return slack;
  }

  public Scenario slack(double factor) {
    slack = factor;
    return this;
  }

  /** Adds a step for its effect. */
  public Scenario run(String... targets) {
    steps.add(new Step(Map.of(), List.of(), List.of(targets), Code.OK));
    return this;
  }

  public Scenario run(Map<String, Tensor> feeds, String... targets) {
    steps.add(new Step(feeds, List.of(), List.of(targets), Code.OK));
    return this;
  }

  /** Adds a step for its values. */
  public Scenario fetch(String... fetches) {
    return fetch(Map.of(), fetches);
  }

  public Scenario fetch(Map<String, Tensor> feeds, String... fetches) {
    steps.add(new Step(feeds, List.of(fetches), List.of(), Code.OK));
    return this;
  }

  /** Adds a step that must fail. */
  public Scenario fails(Code code, String... targets) {
    steps.add(new Step(Map.of(), List.of(), List.of(targets), code));
    return this;
  }

  /** Adds a step with one target that must end with this code. */
  public Scenario step(Map<String, Tensor> feeds, Code code, String target) {
    steps.add(new Step(feeds, List.of(), List.of(target), code));
    return this;
  }

  /** Compares the gradient of {@code y} by a placeholder. */
  public Scenario differentiate(String y, String x, Map<String, Tensor> feeds) {
    derivatives.add(new Derivative(y, x, x, feeds, List.of()));
    return this;
  }

  /**
   * Compares the gradient of {@code y} by a variable, to which {@code assign} gives what is fed.
   */
  public Scenario differentiate(
      String y, String handle, String assign, String fed, Map<String, Tensor> feeds) {
    derivatives.add(new Derivative(y, handle, fed, feeds, List.of(assign)));
    return this;
  }

  @Override
  public String toString() {
    return name;
  }
}
