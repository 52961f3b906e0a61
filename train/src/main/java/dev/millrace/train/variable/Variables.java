package dev.millrace.train.variable;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.train.graph.GraphKeys;
import dev.millrace.train.graph.GroupNodes;
import java.util.List;

/** The variables a graph has. */
public final class Variables {
  private Variables() {}

  /** The variables kept under a key of {@link GraphKeys}, oldest first. */
  public static List<GraphVariable> of(Graph graph, String key) {
    return graph.collection(key).stream().map(GraphVariable.class::cast).toList();
  }

  /** The variables shared by all tasks, oldest first. */
  public static List<GraphVariable> global(Graph graph) {
    return of(graph, GraphKeys.GLOBAL_VARIABLES);
  }

  /** The variables of one task alone, oldest first. */
  public static List<GraphVariable> local(Graph graph) {
    return of(graph, GraphKeys.LOCAL_VARIABLES);
  }

  /** The variables an optimizer changes, oldest first. */
  public static List<GraphVariable> trainable(Graph graph) {
    return of(graph, GraphKeys.TRAINABLE_VARIABLES);
  }

  /** The variable with this name, or null. */
  public static GraphVariable find(Graph graph, String name) {
    for (String key : List.of(GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)) {
      for (GraphVariable v : of(graph, key)) {
        if (v.name().equals(name)) {
          return v;
        }
      }
    }
    return null;
  }

  /** Adds the node {@code init} that gives every global variable its initial value. */
  public static Node initializer(Scope scope) {
    return initializer(scope, "init", global(scope.graph()));
  }

  /** Adds a node that gives each of {@code variables} its initial value. */
  public static Node initializer(Scope scope, String name, List<GraphVariable> variables) {
    return GroupNodes.of(scope, name, variables.stream().map(GraphVariable::initializer).toList());
  }
}
