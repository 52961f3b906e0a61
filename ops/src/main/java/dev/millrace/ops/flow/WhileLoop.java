package dev.millrace.ops.flow;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.tensor.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A subgraph that is computed again and again, with its own results for inputs, while a condition
 * holds.
 */
public final class WhileLoop {
  /**
   * What may be said of a loop.
   *
   * @param parallelIterations how many rounds may overlap where their data allows
   * @param backProp whether gradients go back through the loop; if not, its results are constants
   * @param shapes what is known of each variable's shape in all rounds; empty if the shapes they
   *     begin with stay
   * @param maximumIterations after how many rounds it ends even if its condition holds; -1 for no
   *     such bound
   */
  public record Options(
      int parallelIterations, boolean backProp, List<Shape> shapes, int maximumIterations) {
    /** TensorFlow's defaults. */
    public static final Options DEFAULT = new Options(10, true, List.of(), -1);

    public Options {
      if (parallelIterations < 1) {
        throw MillraceException.invalid(
            "%d rounds of a loop may overlap; it must be 1 or more.", parallelIterations);
      }
      shapes = List.copyOf(shapes);
    }

    /** With so many rounds at a time. */
    public Options withParallelIterations(int n) {
      return new Options(n, backProp, shapes, maximumIterations);
    }

    /** With gradients or without. */
    public Options withBackProp(boolean b) {
      return new Options(parallelIterations, b, shapes, maximumIterations);
    }

    /** With these shapes in all rounds, one for each variable; unknown sizes may change. */
    public Options withShapeInvariants(List<Shape> s) {
      return new Options(parallelIterations, backProp, s, maximumIterations);
    }

    /** With so many rounds at the most. */
    public Options withMaximumIterations(int n) {
      return new Options(parallelIterations, backProp, shapes, n);
    }
  }

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

  private final Scope outside;
  private final Scope inside;
  private final String frame;
  private final Options options;

  /** What has been taken in from outside, so that each value enters once. */
  private final Map<Output, Output> entered = new HashMap<>();

  private WhileLoop(Scope scope, Options options) {
    this.outside = scope.withSubScope("while");
    this.inside = outside.withoutControlInputs().withStandIns(this::inside);
    this.frame = outside.prefix();
    this.options = options;
  }

  /** The variables of a loop when its condition first fails; they begin as {@code start}. */
  public static List<Output> of(Scope scope, List<Output> start, Condition condition, Body body) {
    return of(scope, start, List.of(), condition, body);
  }

  /**
   * The same with {@code constants}, which condition and body see after the variables. What else
   * they use from outside is taken in as it is used.
   */
  public static List<Output> of(
      Scope scope, List<Output> start, List<Output> constants, Condition condition, Body body) {
    return of(
        scope,
        start,
        (s, values) -> condition.of(s, with(values, constants)),
        (s, values) -> body.of(s, with(values, constants)),
        Options.DEFAULT);
  }

  private static List<Output> with(List<Output> values, List<Output> constants) {
    List<Output> all = new ArrayList<>(values);
    all.addAll(constants);
    return List.copyOf(all);
  }

  /** The same with {@code options}. */
  public static List<Output> of(
      Scope scope, List<Output> start, Condition condition, Body body, Options options) {
    if (start.isEmpty()) {
      throw MillraceException.invalid(
          "A loop needs a variable; '%s' would have none.", scope.prefix());
    }
    if (options.maximumIterations() < 0) {
      return new WhileLoop(scope, options).build(start, condition, body);
    }
    return counted(scope, start, condition, body, options);
  }

  /** A loop with a variable more, which counts its rounds. */
  private static List<Output> counted(
      Scope scope, List<Output> start, Condition condition, Body body, Options options) {
    List<Output> all = new ArrayList<>(start);
    all.add(Const.of(scope, 0));
    List<Shape> shapes = new ArrayList<>(options.shapes());
    if (!shapes.isEmpty()) {
      shapes.add(Shape.scalar());
    }
    int count = start.size();
    List<Output> results =
        new WhileLoop(scope, options.withShapeInvariants(shapes))
            .build(
                all,
                (s, v) ->
                    s.add(
                            Comparisons.LOGICAL_AND,
                            Comparisons.less(
                                s, v.get(count), Const.of(s, options.maximumIterations())),
                            condition.of(s, v.subList(0, count)))
                        .output(),
                (s, v) -> {
                  List<Output> next = new ArrayList<>(body.of(s, v.subList(0, count)));
                  next.add(Arithmetic.add(s, v.get(count), Const.of(s, 1)));
                  return next;
                });
    return results.subList(0, count);
  }

  private List<Output> build(List<Output> start, Condition condition, Body body) {
    List<Node> merges = new ArrayList<>();
    for (int i = 0; i < start.size(); i++) {
      Output in = enter(start.get(i), false);
      // The second input comes from the round before and is connected at the end.
      Node merge = inside.node(Merge.OP).inputs(Arrays.asList(in, null)).add();
      merge.output(0).refineShape(shapeOf(start, i));
      merges.add(merge);
    }
    List<Output> values = merges.stream().map(m -> m.output(0)).toList();
    Output test = condition.of(inside.withControlInputs(merges.getFirst()), values);
    Output goOn = Frames.loopCond(inside, test);
    List<Output> results = new ArrayList<>();
    List<Output> begin = new ArrayList<>();
    for (int i = 0; i < start.size(); i++) {
      Node way = Switch.of(inside.colocatedWith(merges.get(i)), values.get(i), goOn);
      results.add(result(way.output(0)));
      begin.add(Identity.of(inside, way.output(1)));
    }
    Scope round = inside.withControlInputs(begin.getFirst().node());
    List<Output> next = body.of(round, List.copyOf(begin));
    if (next.size() != start.size()) {
      throw MillraceException.invalid(
          "The body of loop '%s' gives %d values for its %d variables.",
          frame, next.size(), start.size());
    }
    for (int i = 0; i < next.size(); i++) {
      connect(merges.get(i), next.get(i));
    }
    return results;
  }

  private Shape shapeOf(List<Output> start, int i) {
    List<Shape> shapes = options.shapes();
    if (shapes.isEmpty()) {
      return start.get(i).shape();
    }
    if (shapes.size() != start.size()) {
      throw MillraceException.invalid(
          "%d shapes were given for the %d variables of loop '%s'.",
          shapes.size(), start.size(), frame);
    }
    if (!start.get(i).shape().isCompatibleWith(shapes.get(i))) {
      throw MillraceException.invalid(
          "Loop '%s' begins with '%s', which does not have the shape %s that was given for it.",
          frame, start.get(i), shapes.get(i));
    }
    return shapes.get(i);
  }

  private Output result(Output last) {
    Output exit = Frames.exit(inside, last);
    return options.backProp()
        ? exit
        : outside.withoutControlInputs().node("StopGradient").input(exit).add().output();
  }

  /** A value as the loop sees it: its own, or one from outside that it takes in. */
  private Output inside(Output value) {
    if (value.region().isInLoop(frame)) {
      return value;
    }
    Output in = entered.get(value);
    if (in == null) {
      in = enter(value, true);
      entered.put(value, in);
    }
    return in;
  }

  private Output enter(Output value, boolean constant) {
    return outside
        .withName("Enter")
        .node(value.isRef() && constant ? Frames.REF_ENTER : Frames.ENTER)
        .input(value)
        .attr("frame_name", frame)
        .attr("is_constant", constant)
        .attr("parallel_iterations", options.parallelIterations())
        .add()
        .output();
  }

  private void connect(Node merge, Output next) {
    Output variable = merge.output(0);
    if (next.dtype() != variable.dtype() || !next.shape().isCompatibleWith(variable.shape())) {
      throw MillraceException.invalid(
          "The body of loop '%s' gives %s for a variable that begins as %s %s; type and shape must"
              + " stay the same. A shape that changes is to be named among the shape invariants.",
          frame, next, variable.dtype(), variable.shape());
    }
    inside.graph().connectBackEdge(merge, 1, Frames.nextIteration(inside, next));
  }
}
