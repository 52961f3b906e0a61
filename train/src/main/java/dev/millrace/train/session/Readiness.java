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

/** Nodes that say which variables have a value, asked on the tasks that hold them. */
public final class Readiness {
  private final List<String> names = new ArrayList<>();
  private final List<Output> flags = new ArrayList<>();

  /** Adds the nodes, one vector of answers per device. */
  public Readiness(Scope outer, List<GraphVariable> variables) {
    Scope scope = outer.withoutControlInputs().withSubScope("report_uninitialized_variables");
    Map<String, List<GraphVariable>> byDevice = new TreeMap<>();
    for (GraphVariable v : variables) {
      byDevice.computeIfAbsent(v.node().device(), d -> new ArrayList<>()).add(v);
    }
    for (List<GraphVariable> some : byDevice.values()) {
      List<Output> answers = new ArrayList<>();
      for (GraphVariable v : some) {
        names.add(v.name());
        answers.add(
            scope
                .colocatedWith(v.node())
                .node(v.isResource() ? "VarIsInitializedOp" : "IsVariableInitialized")
                .input(v.handle())
                .add()
                .output());
      }
      flags.add(Pack.of(scope.colocatedWith(some.getFirst().node()), answers));
    }
  }

  /** The names of the variables without a value. */
  public List<String> missing(Session session, RunOptions options) {
    List<String> missing = new ArrayList<>();
    int i = 0;
    for (Tensor answers : session.run(Map.of(), flags, List.of(), options)) {
      for (int k = 0; k < answers.elements(); k++, i++) {
        if (!answers.booleanAt(k)) {
          missing.add(names.get(i));
        }
      }
      answers.close();
    }
    return missing;
  }
}
