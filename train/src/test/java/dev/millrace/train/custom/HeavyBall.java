package dev.millrace.train.custom;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.optimizer.Hyperparameter;
import dev.millrace.train.optimizer.Optimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import java.util.ArrayList;
import java.util.List;

/**
 * Momentum composed of simple ops, as a program outside this project would write it; the built-in
 * one is its oracle. Counts its updates in a variable that all share.
 */
final class HeavyBall extends Optimizer {
  private final Hyperparameter rate;
  private final Hyperparameter momentum;
  private GraphVariable updates;

  HeavyBall(float rate, float momentum) {
    this(Hyperparameter.of("rate", rate), Hyperparameter.of("momentum", momentum));
  }

  private HeavyBall(Hyperparameter rate, Hyperparameter momentum) {
    super("HeavyBall", rate, momentum);
    this.rate = rate;
    this.momentum = momentum;
  }

  /** How often this optimizer has changed the variables. */
  GraphVariable updates() {
    return updates;
  }

  @Override
  protected void createSlots(Scope scope, List<GraphVariable> variables) {
    updates = createShared(scope, variables, "heavy_ball_updates", Tensor.scalar(0L));
    super.createSlots(scope, variables);
  }

  @Override
  protected void createSlots(Scope scope, GraphVariable v) {
    createSlot(scope, v, "speed", Initializers.zeros());
  }

  @Override
  protected Node applyDense(Scope s, GraphVariable v, Output gradient) {
    GraphVariable speed = slots().get("speed", v);
    Output kept = Arithmetic.mul(s, speed.read(), momentum.as(s, v.dtype()));
    Node faster = speed.assign(s, Arithmetic.add(s, kept, gradient));
    Output step = Arithmetic.mul(s, speed.valueAfter(s, faster), rate.as(s, v.dtype()));
    return v.assignSub(s, step);
  }

  @Override
  protected Node applySparse(Scope s, GraphVariable v, Grad.Rows rows) {
    GraphVariable speed = slots().get("speed", v);
    Output old = speed.rows(s, rows.indices());
    Output kept = Arithmetic.mul(s, old, momentum.as(s, v.dtype()));
    Output fresh = Arithmetic.add(s, kept, rows.values());
    Node faster = speed.scatterUpdate(s, rows.indices(), fresh);
    Output step = Arithmetic.mul(s, fresh, rate.as(s, v.dtype()));
    return v.scatterAdd(
        s.withControlInputs(faster), rows.indices(), Arithmetic.scaled(s, step, -1));
  }

  @Override
  protected Node finish(Scope scope, Scope result, List<Node> applied) {
    Scope after = scope.withControlInputs(applied).colocatedWith(updates.node());
    List<Node> all = new ArrayList<>(applied);
    all.add(updates.assignAdd(after, Const.of(after, 1L)));
    return super.finish(scope, result, all);
  }
}
