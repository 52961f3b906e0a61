package dev.millrace.interop.conformance;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.proto.GraphDef;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A small graph with state, and the steps to run on it, each of whose fetches must agree. */
public final class Scenario {
  /** One step; {@code error} is what it must fail with, OK if it must not. */
  record Step(Map<String, Tensor> feeds, List<String> fetches, List<String> targets, Code error) {}

  /**
   * What is differentiated.
   *
   * @param x the output by which: a value or the handle of a variable
   * @param fed the placeholder its value is fed to
   * @param prepare what is run with the feeds first
   */
  record Derivative(
      String y, String x, String fed, Map<String, Tensor> feeds, List<String> prepare) {}

  private final String name;
  private final GraphWriter graph = new GraphWriter();
  private final List<Step> steps = new ArrayList<>();
  private final List<Derivative> derivatives = new ArrayList<>();
  private double slack = 1;

  Scenario(String name) {
    this.name = name;
  }

  /** What it is about, beginning with the op. */
  public String name() {
    return name;
  }

  GraphWriter graph() {
    return graph;
  }

  GraphDef graphDef() {
    return graph.build();
  }

  List<Step> steps() {
    return steps;
  }

  List<Derivative> derivatives() {
    return derivatives;
  }

  double slack() {
    return slack;
  }

  Scenario slack(double factor) {
    slack = factor;
    return this;
  }

  /** Adds a step for its effect. */
  Scenario run(String... targets) {
    steps.add(new Step(Map.of(), List.of(), List.of(targets), Code.OK));
    return this;
  }

  Scenario run(Map<String, Tensor> feeds, String... targets) {
    steps.add(new Step(feeds, List.of(), List.of(targets), Code.OK));
    return this;
  }

  /** Adds a step for its values. */
  Scenario fetch(String... fetches) {
    return fetch(Map.of(), fetches);
  }

  Scenario fetch(Map<String, Tensor> feeds, String... fetches) {
    steps.add(new Step(feeds, List.of(fetches), List.of(), Code.OK));
    return this;
  }

  /** Adds a step that must fail. */
  Scenario fails(Code code, String... targets) {
    steps.add(new Step(Map.of(), List.of(), List.of(targets), code));
    return this;
  }

  /** Adds a step with one target that must end with this code. */
  Scenario step(Map<String, Tensor> feeds, Code code, String target) {
    steps.add(new Step(feeds, List.of(), List.of(target), code));
    return this;
  }

  /** Compares the gradient of {@code y} by a placeholder. */
  Scenario differentiate(String y, String x, Map<String, Tensor> feeds) {
    derivatives.add(new Derivative(y, x, x, feeds, List.of()));
    return this;
  }

  /**
   * Compares the gradient of {@code y} by a variable, to which {@code assign} gives what is fed.
   */
  Scenario differentiate(
      String y, String handle, String assign, String fed, Map<String, Tensor> feeds) {
    derivatives.add(new Derivative(y, handle, fed, feeds, List.of(assign)));
    return this;
  }

  @Override
  public String toString() {
    return name;
  }
}
