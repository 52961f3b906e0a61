package dev.millrace.train.session;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Pack;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.variable.GraphVariable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;

/** A question with yes or no for an answer, asked of variables on the tasks that hold them. */
final class VariableInspection {
  private final List<String> names = new ArrayList<>();
  private final List<Output> answers = new ArrayList<>();

  /**
   * Adds the nodes, one vector of answers per device.
   *
   * @param answer adds the nodes for one variable beside it, a scalar bool
   */
  VariableInspection(
      Scope scope, List<GraphVariable> variables, BiFunction<Scope, GraphVariable, Output> answer) {
    Map<String, List<GraphVariable>> byDevice = new TreeMap<>();
    for (GraphVariable v : variables) {
      byDevice.computeIfAbsent(v.node().device(), d -> new ArrayList<>()).add(v);
    }
    for (List<GraphVariable> some : byDevice.values()) {
      List<Output> ofThese = new ArrayList<>();
      for (GraphVariable v : some) {
        names.add(v.name());
        ofThese.add(answer.apply(scope.colocatedWith(v.node()), v));
      }
      answers.add(Pack.of(scope.colocatedWith(some.getFirst().node()), ofThese));
    }
  }

  /** The names of the variables of which this is the answer now. */
  List<String> answeredBy(boolean answer, Session session, RunOptions options) {
    List<String> found = new ArrayList<>();
    int i = 0;
    for (Tensor some : session.run(Map.of(), answers, List.of(), options)) {
      for (int k = 0; k < some.elements(); k++, i++) {
        if (some.booleanAt(k) == answer) {
          found.add(names.get(i));
        }
      }
      some.close();
    }
    return found;
  }
}
