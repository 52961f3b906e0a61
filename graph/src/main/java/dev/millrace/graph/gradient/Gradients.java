package dev.millrace.graph.gradient;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Preconditions;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Adds to a graph the computation of d(sum of ys)/dx for each x. The work is done by {@link
 * Backward}, and by {@link LoopGradient} where a path leads through a loop.
 */
public final class Gradients {
  /**
   * What may be asked for beyond the gradients themselves.
   *
   * @param starts the gradients that come back for each y, in place of ones; empty for ones
   * @param stops values taken for constants: gradients reach them but go no further
   * @param colocate whether each gradient op is placed with the op it is the gradient of
   */
  public record Options(List<Output> starts, List<Output> stops, boolean colocate) {
    /** Ones for every y, no stops, no colocation. */
    public static final Options DEFAULT = new Options(List.of(), List.of(), false);

    /** With these gradients of the ys, as {@code grad_ys} of TensorFlow. */
    public Options withStarts(List<Output> starts) {
      return new Options(List.copyOf(starts), stops, colocate);
    }

    /** With these values taken for constants, as {@code stop_gradients} of TensorFlow. */
    public Options withStops(List<Output> stops) {
      return new Options(starts, List.copyOf(stops), colocate);
    }

    /** With each gradient op placed with the op it is the gradient of, or not. */
    public Options withColocation(boolean colocate) {
      return new Options(starts, stops, colocate);
    }
  }

  private Gradients() {}

  /** The gradients of the sum of {@code ys} with respect to each of {@code xs}. */
  public static List<Grad> of(Scope scope, List<Output> ys, List<Output> xs) {
    return of(scope, ys, xs, Options.DEFAULT);
  }

  /**
   * Adds the gradients; with {@code colocate}, each gradient op is placed with the op it is the
   * gradient of.
   */
  public static List<Grad> of(Scope scope, List<Output> ys, List<Output> xs, boolean colocate) {
    return of(scope, ys, xs, Options.DEFAULT.withColocation(colocate));
  }

  /** Adds the gradients of the sum of {@code ys} by each of {@code xs}, with {@code options}. */
  public static List<Grad> of(Scope scope, List<Output> ys, List<Output> xs, Options options) {
    if (!options.starts().isEmpty() && options.starts().size() != ys.size()) {
      throw MillraceException.invalid(
          "%d gradients were given for %d ys; there must be one for each.",
          options.starts().size(), ys.size());
    }
    Preconditions.value(scope, "The scope of gradients");
    Preconditions.value(ys, "What gradients are asked of").forEach(y -> checkPart(scope, y));
    Preconditions.value(xs, "What gradients are asked by").forEach(x -> checkPart(scope, x));
    Scope s = scope.withSubScope("gradients");
    Paths paths = new Paths(ys, xs, Set.copyOf(options.stops()));
    Backward walk = new Backward(s, paths, paths.within(), options.colocate());
    for (int i = 0; i < ys.size(); i++) {
      walk.add(ys.get(i), new Grad.Dense(start(s, ys.get(i), options.starts(), i)));
    }
    walk.keep(xs);
    walk.run();
    List<Grad> result = new ArrayList<>();
    xs.forEach(x -> result.add(walk.gradientOf(x)));
    return result;
  }

  private static void checkPart(Scope scope, Output o) {
    if (o == null) {
      throw MillraceException.invalid("A gradient of or by null was asked for.");
    }
    if (o.node().graph() != scope.graph()) {
      throw MillraceException.invalid(
          "A gradient of or by '%s' was asked for, which belongs to another graph than the scope.",
          o.name());
    }
  }

  private static Output start(Scope s, Output y, List<Output> given, int i) {
    if (!y.dtype().isDifferentiable()) {
      throw MillraceException.invalid(
          "'%s' is %s; only floating-point and complex tensors have gradients.",
          y.name(), y.dtype());
    }
    if (given.isEmpty()) {
      if (y.dtype().isComplex()) {
        throw MillraceException.invalid(
            "'%s' is %s; a gradient of complex numbers must be told where it starts. Give the"
                + " gradient of it, or differentiate a real function of it.",
            y.name(), y.dtype());
      }
      return s.withName("grad_ys").node("OnesLike").input(y).add().output();
    }
    Output start = given.get(i);
    if (start.dtype() != y.dtype() || !start.shape().isCompatibleWith(y.shape())) {
      throw MillraceException.invalid(
          "'%s' was given for the gradient of '%s': type and shape must be the same.", start, y);
    }
    return start;
  }

  /** A gradient as one tensor; rows are added into zeros of the whole shape. */
  public static Output dense(Scope scope, Grad g) {
    return Sums.dense(scope, g);
  }
}
