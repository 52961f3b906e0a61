package dev.millrace.ops.flow;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Identity;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A subgraph that is computed again and again, with its own results for inputs, while a condition
 * holds.
 */
public final class WhileLoop {
  /** How many rounds may overlap where their data allows, as in TensorFlow. */
  private static final int PARALLEL_ITERATIONS = 10;

  /** The condition of a loop. */
  @FunctionalInterface
  public interface Condition {
    /** Adds the ops of the condition, a bool scalar. They use the scope and {@code values}. */
    Output of(Scope scope, List<Output> values);
  }

  /** One round of a loop. */
  @FunctionalInterface
  public interface Body {
    /**
     * Adds the ops of a round and gives the loop's variables for the next, as many and of the same
     * types. They use the scope, which makes ops without inputs part of the loop, and {@code
     * values}.
     */
    List<Output> of(Scope scope, List<Output> values);
  }

  private WhileLoop() {}

  /** The variables of a loop when its condition first fails; they begin as {@code start}. */
  public static List<Output> of(Scope scope, List<Output> start, Condition condition, Body body) {
    return of(scope, start, List.of(), condition, body);
  }

  /**
   * The same for a loop that uses values from outside. Condition and body see the variables and
   * after them the {@code constants}; what is used from outside without being named there is
   * refused when the loop runs. A variable keeps the shape it begins with.
   */
  public static List<Output> of(
      Scope scope, List<Output> start, List<Output> constants, Condition condition, Body body) {
    if (start.isEmpty()) {
      throw MillraceException.invalid(
          "A loop needs a variable; '%s' would have none.", scope.prefix());
    }
    Scope outside = scope.withSubScope("while");
    Scope s = outside.withoutControlInputs();
    String frame = s.prefix();
    List<Output> values = new ArrayList<>();
    List<Node> merges = new ArrayList<>();
    for (Output v : start) {
      Output in = enter(outside.withName("Enter"), v, frame, false);
      // The second input comes from the round before and is connected at the end.
      Node merge = s.node(Merge.OP).inputs(Arrays.asList(in, null)).add();
      merge.output(0).refineShape(v.shape());
      merges.add(merge);
      values.add(merge.output(0));
    }
    for (Output c : constants) {
      values.add(enter(outside.withName("Enter"), c, frame, true));
    }
    Node pivot = merges.getFirst();
    Output test = condition.of(s.withControlInputs(pivot), List.copyOf(values));
    Output goOn = Frames.loopCond(s, test);
    List<Output> results = new ArrayList<>();
    List<Output> inside = new ArrayList<>(values);
    for (int i = 0; i < start.size(); i++) {
      Node way = Switch.of(s.colocatedWith(merges.get(i)), values.get(i), goOn);
      results.add(Frames.exit(s, way.output(0)));
      inside.set(i, Identity.of(s, way.output(1)));
    }
    Scope round = s.withControlInputs(inside.getFirst().node());
    List<Output> next = body.of(round, List.copyOf(inside));
    if (next.size() != start.size()) {
      throw MillraceException.invalid(
          "The body of loop '%s' gives %d values for its %d variables.",
          frame, next.size(), start.size());
    }
    for (int i = 0; i < next.size(); i++) {
      connect(s, frame, merges.get(i), next.get(i));
    }
    return results;
  }

  private static Output enter(Scope s, Output value, String frame, boolean constant) {
    return s.node(Frames.ENTER)
        .input(value)
        .attr("frame_name", frame)
        .attr("is_constant", constant)
        .attr("parallel_iterations", PARALLEL_ITERATIONS)
        .add()
        .output();
  }

  private static void connect(Scope s, String frame, Node merge, Output next) {
    if (next.dtype() != merge.output(0).dtype()
        || !next.shape().isCompatibleWith(merge.output(0).shape())) {
      throw MillraceException.invalid(
          "The body of loop '%s' gives %s for a variable that begins as %s %s; type and shape must"
              + " stay the same.",
          frame, next, merge.output(0).dtype(), merge.output(0).shape());
    }
    s.graph().connectBackEdge(merge, 1, Frames.nextIteration(s, next));
  }
}
