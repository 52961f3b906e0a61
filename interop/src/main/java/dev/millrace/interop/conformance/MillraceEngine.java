package dev.millrace.interop.conformance;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.GraphDef;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Millrace's local session, told not to simplify graphs, so that each op itself is what runs. */
public final class MillraceEngine implements Engine {
  private static final RunOptions OPTIONS = RunOptions.DEFAULT.withTimeout(Duration.ofMinutes(1));

  @Override
  public Loaded load(GraphDef def) {
    Graph graph = StandardOps.newGraph();
    GraphCodec.importInto(def, graph, true);
    return new Loaded() {
      // Opened by the first step: most graphs are loaded for their shapes only.
      private LocalSession session;

      @Override
      public List<Tensor> run(
          Map<String, Tensor> feeds, List<String> fetches, List<String> targets) {
        if (session == null) {
          session = new LocalSession(graph, SessionOptions.DEFAULT.withSimplify(false));
        }
        Map<Output, Tensor> values = new LinkedHashMap<>();
        feeds.forEach((name, value) -> values.put(output(graph, name), value));
        List<Output> wanted = fetches.stream().map(name -> output(graph, name)).toList();
        List<Node> nodes = targets.stream().map(graph::node).toList();
        // What is read from a reference variable is its memory, which the next step changes.
        return session.run(values, wanted, nodes, OPTIONS).stream()
            .map(value -> value.copy())
            .toList();
      }

      @Override
      public Shape inferredShape(String output) {
        return output(graph, output).shape();
      }

      @Override
      public Map<String, String> addGradients(List<String> ys, List<String> xs) {
        Scope scope = Scope.of(graph);
        List<Grad> grads =
            Gradients.of(
                scope,
                ys.stream().map(name -> output(graph, name)).toList(),
                xs.stream().map(name -> output(graph, name)).toList());
        Map<String, String> names = new LinkedHashMap<>();
        for (int i = 0; i < xs.size(); i++) {
          if (!(grads.get(i) instanceof Grad.None)) {
            names.put(xs.get(i), Gradients.dense(scope, grads.get(i)).name());
          }
        }
        return names;
      }

      @Override
      public void close() {
        if (session != null) {
          session.close();
        }
      }
    };
  }

  private static Output output(Graph graph, String name) {
    return graph.output(name.contains(":") ? name : name + ":0");
  }
}
