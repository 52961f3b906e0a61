package dev.millrace.ring;

import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.train.graph.GroupNodes;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.util.ArrayList;
import java.util.List;

/**
 * Gives all ranks the variables of one of them, so that they start alike: after initialisation,
 * which draws other numbers on every rank unless seeded, and after a checkpoint was restored on one
 * rank only.
 */
public final class VariableBroadcast {
  private VariableBroadcast() {}

  /** Adds a node that overwrites all global variables with those of rank {@code root}. */
  public static Node of(Scope scope, int root) {
    return of(scope, root, Variables.global(scope.graph()));
  }

  /** Adds a node that overwrites these variables with those of rank {@code root}. */
  public static Node of(Scope scope, int root, List<GraphVariable> variables) {
    Scope s = scope.withSubScope("broadcast");
    List<Node> assigned = new ArrayList<>();
    for (GraphVariable v : variables) {
      Scope at = s.colocatedWith(v.node());
      Scope named = at.withName("HorovodBroadcast_" + v.name().replaceAll("[^A-Za-z0-9]", "_"));
      assigned.add(v.assign(at, RingOps.broadcast(named, v.read(), root)));
    }
    return GroupNodes.in(s, assigned);
  }
}
