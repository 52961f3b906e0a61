package dev.millrace.train;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.math.AddN;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.train.optimizer.GradientAndVariable;
import dev.millrace.train.optimizer.Minimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.util.ArrayList;
import java.util.List;

/**
 * The same model on several devices of one machine: each computes the gradients of its part of the
 * batch, and one update is made with their average.
 */
public final class Towers {
  private Towers() {}

  /** Builds the model once per device. Variables must be shared: made before, or with reuse. */
  @FunctionalInterface
  public interface Model {
    /** The loss of tower number {@code tower}, its nodes added through {@code scope}. */
    Output loss(Scope scope, int tower);
  }

  /** Adds a tower on each of {@code devices} and the update; returns the train op. */
  public static Node minimize(
      Scope scope,
      List<String> devices,
      Model model,
      Minimizer optimizer,
      GraphVariable globalStep) {
    if (devices.isEmpty()) {
      throw MillraceException.invalid("Towers need at least one device.");
    }
    List<List<GradientAndVariable>> towers = new ArrayList<>();
    for (int i = 0; i < devices.size(); i++) {
      Scope s = scope.withSubScope("tower_" + i).withDevice(devices.get(i));
      Output loss = model.loss(s, i);
      towers.add(optimizer.computeGradients(s, loss, Variables.trainable(scope.graph())));
    }
    List<GradientAndVariable> averages = new ArrayList<>();
    for (int v = 0; v < towers.getFirst().size(); v++) {
      GraphVariable variable = towers.getFirst().get(v).variable();
      List<Grad> gradients = new ArrayList<>();
      for (List<GradientAndVariable> tower : towers) {
        gradients.add(tower.get(v).gradient());
      }
      Scope beside = scope.withSubScope("average").colocatedWith(variable.node());
      averages.add(new GradientAndVariable(average(beside, gradients), variable));
    }
    return optimizer.applyGradients(scope, averages, globalStep);
  }

  private static Grad average(Scope scope, List<Grad> gradients) {
    List<Grad> present = gradients.stream().filter(g -> !(g instanceof Grad.None)).toList();
    if (present.isEmpty()) {
      return gradients.getFirst();
    }
    double share = 1. / gradients.size();
    if (present.stream().allMatch(Grad.Dense.class::isInstance)) {
      List<Output> values = present.stream().map(g -> ((Grad.Dense) g).value()).toList();
      return new Grad.Dense(Arithmetic.scaled(scope, AddN.of(scope, values), share));
    }
    if (!present.stream().allMatch(Grad.Rows.class::isInstance)) {
      throw MillraceException.invalid(
          "A variable has a whole gradient in one tower and rows in another: the towers differ.");
    }
    List<Grad.Rows> rows = present.stream().map(Grad.Rows.class::cast).toList();
    Output values = Concat.of(scope, rows.stream().map(Grad.Rows::values).toList(), 0);
    Output indices = Concat.of(scope, rows.stream().map(Grad.Rows::indices).toList(), 0);
    return new Grad.Rows(
        Arithmetic.scaled(scope, values, share), indices, rows.getFirst().denseShape());
  }
}
