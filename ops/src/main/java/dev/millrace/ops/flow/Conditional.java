package dev.millrace.ops.flow;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Identity;
import java.util.ArrayList;
import java.util.List;

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

  private Conditional() {}

  /**
   * The results of {@code whenTrue} or of {@code otherwise}, which must be as many and of the same
   * types. All that the branches use from outside is to be named in {@code inputs}: what they use
   * directly would be computed, and changed, in every case.
   */
  public static List<Output> of(
      Scope scope, Output predicate, List<Output> inputs, Branch whenTrue, Branch otherwise) {
    Scope s = scope.withSubScope("cond");
    var pivot = Switch.of(s.withName("Switch"), predicate, predicate);
    Output isTrue = Identity.of(s.withName("switch_t"), pivot.output(1));
    Output isFalse = Identity.of(s.withName("switch_f"), pivot.output(0));
    Output chosen = Identity.of(s.withName("pred_id"), predicate);
    List<Output> yes = new ArrayList<>();
    List<Output> no = new ArrayList<>();
    for (Output in : inputs) {
      var way = Switch.of(s.colocatedWith(in.node()), in, chosen);
      no.add(way.output(0));
      yes.add(way.output(1));
    }
    List<Output> then = whenTrue.of(s.withControlInputs(isTrue.node()), List.copyOf(yes));
    List<Output> other = otherwise.of(s.withControlInputs(isFalse.node()), List.copyOf(no));
    if (then.size() != other.size()) {
      throw MillraceException.invalid(
          "The branches of '%s' have %d and %d results; they must have as many.",
          s.prefix(), then.size(), other.size());
    }
    List<Output> results = new ArrayList<>();
    for (int i = 0; i < then.size(); i++) {
      // A result may be an input handed through or come from outside: here it gets the pivot.
      Output a = Identity.of(s.withControlInputs(isTrue.node()), then.get(i));
      Output b = Identity.of(s.withControlInputs(isFalse.node()), other.get(i));
      results.add(Merge.of(s, List.of(b, a)).output(0));
    }
    return results;
  }
}
