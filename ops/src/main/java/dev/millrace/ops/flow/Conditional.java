package dev.millrace.ops.flow;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Identity;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One of two subgraphs, chosen anew in each step. Only the chosen one is computed. */
public final class Conditional {
  /** A side of the choice. */
  @FunctionalInterface
  public interface Branch {
    /**
     * Adds the ops of this side. They use {@code inputs} in place of the values handed in, and the
     * scope, which makes ops without inputs wait for the choice.
     */
    List<Output> of(Scope scope, List<Output> inputs);
  }

  private final Scope scope;
  private final Output predicate;
  private final Output chosen;

  /** The values taken in from outside, each with its Switch. */
  private final Map<Output, Node> ways = new HashMap<>();

  private Conditional(Scope scope, Output predicate) {
    this.scope = scope;
    this.predicate = predicate;
    this.chosen = Identity.of(scope.withName("pred_id"), predicate);
  }

  /**
   * The results of {@code whenTrue} or of {@code otherwise}, which must be as many and of the same
   * types. The branches see {@code inputs}; what else they use from outside is taken in as it is
   * used.
   */
  public static List<Output> of(
      Scope scope, Output predicate, List<Output> inputs, Branch whenTrue, Branch otherwise) {
    Scope s = scope.withSubScope("cond");
    return new Conditional(s, s.standIn(predicate)).build(inputs, whenTrue, otherwise);
  }

  private List<Output> build(List<Output> inputs, Branch whenTrue, Branch otherwise) {
    Node pivot = Switch.of(scope.withName("Switch"), predicate, predicate);
    Node isTrue = Identity.of(scope.withName("switch_t"), pivot.output(1)).node();
    Node isFalse = Identity.of(scope.withName("switch_f"), pivot.output(0)).node();
    Scope yes = scope.withControlInputs(isTrue).withStandIns(v -> within(v, 1));
    Scope no = scope.withControlInputs(isFalse).withStandIns(v -> within(v, 0));
    List<Output> then = whenTrue.of(yes, inputs.stream().map(v -> within(v, 1)).toList());
    List<Output> other = otherwise.of(no, inputs.stream().map(v -> within(v, 0)).toList());
    if (then.size() != other.size()) {
      throw MillraceException.invalid(
          "The branches of '%s' have %d and %d results; they must have as many.",
          scope.prefix(), then.size(), other.size());
    }
    List<Output> results = new ArrayList<>();
    for (int i = 0; i < then.size(); i++) {
      // A result may be an input handed through or come from outside: here it gets the pivot.
      Output a = Identity.of(yes, then.get(i));
      Output b = Identity.of(no, other.get(i));
      results.add(Merge.of(scope.withStandIns(v -> v), List.of(b, a)).output(0));
    }
    return results;
  }

  /** A value as one side sees it: its own, or one from outside that is there if it is chosen. */
  private Output within(Output value, int side) {
    if (value.region().isInBranch(List.of(predicate, chosen), side)) {
      return value;
    }
    Node way = ways.get(value);
    if (way == null) {
      way = Switch.of(scope.colocatedWith(value.node()), value, chosen);
      ways.put(value, way);
    }
    return way.output(side);
  }
}
