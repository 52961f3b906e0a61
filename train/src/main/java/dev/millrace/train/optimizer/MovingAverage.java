package dev.millrace.train.optimizer;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.tensor.DType;
import dev.millrace.train.graph.GraphKeys;
import dev.millrace.train.graph.GroupNodes;
import dev.millrace.train.variable.GraphVariable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Moving averages of variables, often better to evaluate with than the last values: {@code average
 * = decay * average + (1 - decay) * v}. The average of {@code v} is the variable {@code
 * v/ExponentialMovingAverage}, placed with v.
 */
public final class MovingAverage {
  private static final String NAME = "ExponentialMovingAverage";

  private final float decay;
  private final GraphVariable step;
  private final Slots averages = new Slots();

  /** With the same decay at every step, such as 0.999. */
  public MovingAverage(float decay) {
    this(decay, null);
  }

  /** With a decay that is smaller at first: at most {@code (1 + step) / (10 + step)}. */
  public MovingAverage(float decay, GraphVariable step) {
    this.decay = decay;
    this.step = step;
  }

  /** Adds a node that updates the averages of {@code variables}; to be run after each change. */
  public Node apply(Scope scope, List<GraphVariable> variables) {
    for (GraphVariable v : variables) {
      averages.create(scope, v, NAME, NAME, (s, dtype, shape) -> v.initialValue());
      List<Object> all = v.graph().collection(GraphKeys.MOVING_AVERAGE_VARIABLES);
      if (!all.contains(v)) {
        all.add(v);
      }
    }
    Scope own = scope.withSubScope(NAME);
    Output d = decay(own);
    List<Node> updates = new ArrayList<>();
    for (GraphVariable v : variables) {
      GraphVariable average = average(v);
      Scope s = own.withSubScope("AssignMovingAvg").colocatedWith(average.node());
      Output kept = d.dtype() == v.dtype() ? d : Cast.of(s, d, v.dtype());
      Output one = Const.of(s.withName("sub/x"), v.dtype(), 1);
      Output share = Arithmetic.sub(s.withName("sub"), one, kept);
      Output apart = Arithmetic.sub(s.withName("sub_1"), average.read(), v.read());
      Output change = Arithmetic.mul(s.withName("mul"), apart, share);
      updates.add(average.assignSub(s.asNode(), change));
    }
    return GroupNodes.in(own, updates);
  }

  private Output decay(Scope s) {
    Output d = Const.of(s.withName("decay"), decay);
    if (step == null) {
      return d;
    }
    Output n = Cast.of(s, step.read(), DType.FLOAT);
    Output early =
        Arithmetic.realDiv(
            s, Arithmetic.add(s, Const.of(s, 1f), n), Arithmetic.add(s, Const.of(s, 10f), n));
    return Arithmetic.minimum(s, d, early);
  }

  /** The average of {@code v}, or null if none is kept. */
  public GraphVariable average(GraphVariable v) {
    return averages.find(NAME, v);
  }

  /**
   * For evaluation from a checkpoint: under which name each variable is to be restored, with the
   * averages in place of the variables that have one.
   */
  public Map<String, GraphVariable> toRestore(List<GraphVariable> variables) {
    Map<String, GraphVariable> names = new TreeMap<>();
    for (GraphVariable v : variables) {
      GraphVariable average = average(v);
      String name = average == null ? v.savedName() : average.savedName();
      if (names.put(name, v) != null) {
        throw MillraceException.invalid(
            "Several parts are to be restored from '%s'. Restore each by a saver of its own.",
            name);
      }
    }
    return names;
  }
}
