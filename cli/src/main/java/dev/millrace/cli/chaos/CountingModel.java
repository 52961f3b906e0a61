package dev.millrace.cli.chaos;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.job.Mode;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.sync.BoundedStaleness;
import dev.millrace.train.sync.SyncReplicasOptimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A model that counts: a step adds 1 to one element of each ledger, by which the update is known,
 * to every element of each ballast, and to one row of each table. All gradients are ordinary ones.
 *
 * @param slot which element and row of the ledgers and tables, to be fed
 */
record CountingModel(Scope scope, Output slot, Node train, List<SessionRunHook> hooks) {
  static final int SLOTS = 2048;
  static final int WIDTH = 16;
  private static final int BALLAST = 20_000;
  private static final int BOUND = 4;
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  /** The variables that count, one of each kind on each parameter server. */
  record Counters(
      List<GraphVariable> ledgers,
      List<GraphVariable> ballasts,
      List<GraphVariable> tables,
      GraphVariable globalStep) {
    static Counters of(Scope scope, int servers) {
      GraphVariable step = GlobalStep.of(scope.withDevice("/job:ps/task:0"));
      List<GraphVariable> ledgers = new ArrayList<>();
      List<GraphVariable> ballasts = new ArrayList<>();
      List<GraphVariable> tables = new ArrayList<>();
      for (int ps = 0; ps < servers; ps++) {
        // Both kinds of variables take part.
        VariableScope there =
            VariableScope.of(scope.withDevice("/job:ps/task:" + ps)).withResources(ps % 2 == 0);
        ledgers.add(there.variable("ledger" + ps, Shape.of(SLOTS, 1), Initializers.zeros()));
        ballasts.add(there.variable("ballast" + ps, Shape.of(BALLAST), Initializers.zeros()));
        tables.add(there.variable("table" + ps, Shape.of(SLOTS, WIDTH), Initializers.zeros()));
      }
      return new Counters(ledgers, ballasts, tables, step);
    }
  }

  /** The model as worker {@code index} sees it. */
  static CountingModel of(Mode mode, int servers, int workers, int index) {
    String task = "/job:worker/replica:0/task:" + index;
    Scope scope =
        Scope.of(new Graph(StandardOps.registry()))
            .withDevice(ReplicaDeviceSetter.of(servers, task));
    Counters counters = Counters.of(scope, servers);
    GraphVariable step = counters.globalStep;
    Output slot = Placeholder.of(scope.withName("slot"), DType.INT32, Shape.of(1));
    Output gain = null;
    for (int ps = 0; ps < servers; ps++) {
      for (Output part :
          List.of(
              counters.ledgers.get(ps).rows(scope, slot),
              counters.ballasts.get(ps).read(),
              counters.tables.get(ps).rows(scope, slot))) {
        Output sum = Reduction.sumAll(scope, part);
        gain = gain == null ? sum : Arithmetic.add(scope, gain, sum);
      }
    }
    Output loss = Arithmetic.scaled(scope, gain, -1);
    List<SessionRunHook> hooks = new ArrayList<>();
    GradientDescent descent = new GradientDescent(1);
    Node train =
        switch (mode) {
          case SYNC -> {
            SyncReplicasOptimizer sync = new SyncReplicasOptimizer(descent, workers, workers);
            Node made = sync.minimize(scope, loss, step);
            hooks.add(sync.hook(index == 0));
            yield made;
          }
          case BOUNDED -> {
            BoundedStaleness bounded = new BoundedStaleness(descent, workers, index, BOUND);
            Node made = bounded.minimize(scope, loss, step);
            hooks.add(bounded.hook(index == 0, PATIENCE));
            yield made;
          }
          default -> descent.minimize(scope, loss, step);
        };
    return new CountingModel(scope, slot, train, hooks);
  }
}
