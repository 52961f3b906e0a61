package dev.millrace.train.simulated;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.job.JobEnd;
import dev.millrace.train.job.StopRequest;
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
 * A model that counts updates: each step adds 1 to one element of a ledger on every parameter
 * server, and the element is the identity of the step.
 */
final class CountingModel {
  static final int SLOTS = 512;

  /** What a ledger is called, with the number of its parameter server. */
  static final String LEDGER = "ledger";

  private static final Duration PATIENCE = Duration.ofMinutes(5);

  /** How the workers' updates come together. */
  enum Mode {
    ASYNC,
    SYNC,
    BOUNDED
  }

  final Scope scope;
  final Output update;
  final Node train;
  final List<SessionRunHook> hooks = new ArrayList<>();

  /** For worker {@code index} of {@code job}. */
  CountingModel(JobShape job, int index) {
    String task = job.worker(index).name();
    scope =
        Scope.of(StandardOps.newGraph()).withDevice(ReplicaDeviceSetter.of(job.servers(), task));
    GraphVariable step = GlobalStep.of(scope);
    update = Placeholder.of(scope.withName("update"), DType.FLOAT, Shape.of(SLOTS));
    Output loss = null;
    for (int ps = 0; ps < job.servers(); ps++) {
      Scope there = scope.withDevice("/job:ps/task:" + ps);
      GraphVariable ledger =
          VariableScope.of(there).variable(LEDGER + ps, Shape.of(SLOTS), Initializers.zeros());
      Output part = Arithmetic.mul(scope, ledger.read(), Arithmetic.scaled(scope, update, -1));
      loss = loss == null ? part : Arithmetic.add(scope, loss, part);
    }
    boolean chief = index == 0;
    GradientDescent descent = new GradientDescent(1);
    switch (job.mode()) {
      case ASYNC -> train = descent.minimize(scope, loss, step);
      case SYNC -> {
        SyncReplicasOptimizer sync =
            new SyncReplicasOptimizer(descent, job.workers() - job.backups(), job.workers());
        train = sync.minimize(scope, loss, step);
        hooks.add(sync.hook(chief));
      }
      case BOUNDED -> {
        BoundedStaleness bounded = new BoundedStaleness(descent, job.workers(), index, job.bound());
        train = bounded.minimize(scope, loss, step);
        hooks.add(bounded.hook(chief, PATIENCE));
      }
      default -> throw new IllegalStateException();
    }
    hooks.add(new StopRequest(scope, "/job:ps/task:0", chief));
    hooks.add(JobEnd.hook(scope, job.servers(), job.worker(index).toString(), () -> false));
    hooks.add(StopAtStepHook.at(step, job.steps()));
  }

  /** The update with this identity. */
  static Tensor update(int id) {
    float[] values = new float[SLOTS];
    values[id] = 1;
    return Tensor.vector(values);
  }
}
