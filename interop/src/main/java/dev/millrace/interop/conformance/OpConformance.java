package dev.millrace.interop.conformance;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.OpCase.Knowledge;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Compares an engine with TensorFlow, case by case. An engine that says UNIMPLEMENTED, or NOT_FOUND
 * for an op, is reported as not supporting it and not compared further.
 */
public final class OpConformance {
  private final Engine tensorFlow = new TensorFlowEngine();
  private final Engine engine;
  private final GradientConformance gradients;

  /** Compares {@code engine} with TensorFlow; TensorFlow with itself checks the cases. */
  public OpConformance(Engine engine) {
    this.engine = engine;
    this.gradients = new GradientConformance(tensorFlow, engine);
  }

  /** How the gradients of the cases so far were compared. */
  GradientConformance gradients() {
    return gradients;
  }

  /** All differences; none if the engine agrees. */
  public List<Finding> check(OpCase c) {
    List<Finding> findings = new ArrayList<>();
    Attempt expected = run(tensorFlow, c);
    if (expected.code() != c.error() && !c.isOpen()) {
      String says = c.error() == Code.OK ? "should succeed" : "should fail with " + c.error();
      String does = expected.code() == Code.OK ? "succeeds" : expected.failure();
      return List.of(new Finding(Finding.Kind.CASE, c.toString(), says + ", but " + does));
    }
    Attempt actual = run(engine, c);
    if (actual.isUnsupported() && !expected.isUnsupported()) {
      return List.of(new Finding(Finding.Kind.UNSUPPORTED, c.toString(), actual.failure()));
    }
    if (actual.code() != expected.code()) {
      String does = actual.code() == Code.OK ? "succeeds" : actual.failure();
      String should = expected.code() == Code.OK ? "succeed" : "fail: " + expected.failure();
      return List.of(new Finding(Finding.Kind.ERROR, c.toString(), does + "; it should " + should));
    }
    if (expected.code() != Code.OK) {
      return findings;
    }
    compareOutputs(c, expected.outputs(), actual.outputs(), findings);
    if (!c.isOfOtherValues()) {
      compareInference(c, expected.outputs(), findings);
    }
    GradientGraph graph = GradientGraph.of(c, expected.outputs());
    if (graph != null) {
      findings.addAll(gradients.check(graph));
    }
    return findings;
  }

  /** The first difference in the steps of a scenario, if there is one, or those in gradients. */
  public List<Finding> check(Scenario s) {
    // One after the other, as both may write the same files.
    List<Attempt> expected = run(tensorFlow, s);
    List<Attempt> actual = run(engine, s);
    for (int i = 0; i < s.steps().size(); i++) {
      Scenario.Step step = s.steps().get(i);
      String subject = s + ", step " + i + " " + step.fetches() + step.targets();
      Attempt e = expected.get(i);
      Attempt a = actual.get(i);
      if (e.code() != step.error() && !s.isOpen()) {
        String does = e.code() == Code.OK ? "succeeds" : e.failure();
        String message = "should be " + step.error() + ", but " + does;
        return List.of(new Finding(Finding.Kind.CASE, subject, message));
      }
      if (a.code() != e.code()) {
        Finding.Kind kind = a.isUnsupported() ? Finding.Kind.UNSUPPORTED : Finding.Kind.ERROR;
        String does = a.code() == Code.OK ? "succeeds" : a.failure();
        String should = e.code() == Code.OK ? "succeed" : "fail: " + e.failure();
        return List.of(new Finding(kind, subject, does + "; it should " + should));
      }
      for (int k = 0; k < e.outputs().size(); k++) {
        var difference = Closeness.difference(e.outputs().get(k), a.outputs().get(k), s.slack());
        if (difference.isPresent()) {
          String message = step.fetches().get(k) + ": " + difference.get();
          return List.of(new Finding(Finding.Kind.VALUE, subject, message));
        }
      }
    }
    return s.derivatives().stream()
        .flatMap(d -> gradients.check(GradientGraph.of(s, d)).stream())
        .toList();
  }

  /** What came of each step; of a graph that is refused, the same for all. */
  private static List<Attempt> run(Engine engine, Scenario s) {
    try (Engine.Loaded loaded = engine.load(s.graphDef())) {
      return s.steps().stream().map(step -> run(loaded, step)).toList();
    } catch (MillraceException e) {
      return Collections.nCopies(s.steps().size(), new Attempt(List.of(), e));
    }
  }

  private static Attempt run(Engine.Loaded loaded, Scenario.Step step) {
    try {
      return new Attempt(loaded.run(step.feeds(), step.fetches(), step.targets()), null);
    } catch (MillraceException e) {
      return new Attempt(List.of(), e);
    }
  }

  /** What came of running a case. */
  private record Attempt(List<Tensor> outputs, MillraceException error) {
    Code code() {
      return error == null ? Code.OK : error.code();
    }

    boolean isUnsupported() {
      return code() == Code.UNIMPLEMENTED || code() == Code.NOT_FOUND;
    }

    String failure() {
      return error.code() + " " + error.getMessage().lines().findFirst().orElse("");
    }
  }

  private static Attempt run(Engine engine, OpCase c) {
    Knowledge knowledge = c.known();
    GraphWriter graph = c.writer(knowledge);
    try (Engine.Loaded loaded = engine.load(graph.build())) {
      return new Attempt(
          loaded.run(c.feeds(knowledge), outputs(graph), List.of(OpCase.NODE)), null);
    } catch (MillraceException e) {
      return new Attempt(List.of(), e);
    }
  }

  private static List<String> outputs(GraphWriter graph) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < graph.outputs(OpCase.NODE); i++) {
      names.add(OpCase.NODE + ":" + i);
    }
    return names;
  }

  private static void compareOutputs(
      OpCase c, List<Tensor> expected, List<Tensor> actual, List<Finding> findings) {
    for (int i = 0; i < expected.size(); i++) {
      Tensor e = expected.get(i);
      Tensor a = actual.get(i);
      int output = i;
      if (c.isChecked(i)) {
        (c.isSummary() ? SummaryCloseness.difference(e, a) : Closeness.difference(e, a, c.slack()))
            .ifPresent(
                d ->
                    findings.add(
                        new Finding(
                            Finding.Kind.VALUE, c.toString(), "output " + output + ": " + d)));
      } else if (e.dtype() != a.dtype() || !e.shape().equals(a.shape())) {
        findings.add(
            new Finding(
                Finding.Kind.VALUE,
                c.toString(),
                "output %d is %s, should be %s".formatted(i, a, e)));
      }
    }
  }

  /** An engine may know more before running than TensorFlow does, not less and nothing false. */
  private void compareInference(OpCase c, List<Tensor> outputs, List<Finding> findings) {
    for (Knowledge knowledge : Knowledge.values()) {
      GraphWriter graph = c.writer(knowledge);
      if (knowledge != Knowledge.SHAPES && isRefused(graph)) {
        continue; // TensorFlow wants to know more; there is nothing to compare with.
      }
      try (Engine.Loaded theirs = tensorFlow.load(graph.build());
          Engine.Loaded ours = engine.load(graph.build())) {
        for (int i = 0; i < outputs.size(); i++) {
          String output = OpCase.NODE + ":" + i;
          Shape expected = theirs.inferredShape(output);
          Shape actual = ours.inferredShape(output);
          Shape real = outputs.get(i).shape();
          String both =
              "%s knows of output %d: %s, TensorFlow: %s".formatted(knowledge, i, actual, expected);
          if (!expected.isCompatibleWith(real)) {
            continue; // TensorFlow itself is wrong.
          }
          if (!actual.isCompatibleWith(real)) {
            findings.add(
                new Finding(Finding.Kind.INFERENCE, c.toString(), both + "; it is " + real));
          } else if (!actual.isCompatibleWith(expected)
              || !actual.mergeWith(expected).equals(actual)) {
            findings.add(new Finding(Finding.Kind.INFERENCE, c.toString(), both));
          }
        }
      } catch (MillraceException e) {
        findings.add(
            new Finding(
                Finding.Kind.INFERENCE,
                c.toString(),
                knowledge + " is refused: " + e.getMessage()));
      }
    }
  }

  private boolean isRefused(GraphWriter graph) {
    try (Engine.Loaded theirs = tensorFlow.load(graph.build())) {
      return theirs == null;
    } catch (MillraceException e) {
      return true;
    }
  }
}
