package dev.millrace.ops;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Compares the symbolic gradient of a function with finite differences, in double precision. The
 * function is built three times: for inputs whose shapes are known, whose ranks are, and of which
 * nothing is known, as gradients take different paths.
 */
public final class GradientCheck {
  private static final double STEP = 1e-5;

  /** Builds the function of some inputs; its result may have any shape. */
  public interface Function {
    Output of(Scope scope, List<Output> x);
  }

  private GradientCheck() {}

  /** For inputs of which something is known or nothing. */
  public static void check(Function f, Tensor... at) {
    checkKnownRank(f, at);
    compare(f, Shape.unknown(), at);
  }

  /** For inputs whose rank, at least, is known. */
  public static void checkKnownRank(Function f, Tensor... at) {
    compare(f, null, at);
    compare(f, Shape.scalar(), at);
  }

  /** {@code known}: null for all, a scalar for the rank, unknown for nothing. */
  private static void compare(Function f, Shape known, Tensor... at) {
    Scope s = Scope.of(StandardOps.newGraph());
    List<Output> x = new ArrayList<>();
    Map<Output, Tensor> feeds = new HashMap<>();
    for (Tensor t : at) {
      Shape shape =
          known == null
              ? t.shape()
              : known.hasRank() ? Shape.unknownOfRank(t.shape().rank()) : known;
      Output p = Placeholder.of(s, DType.DOUBLE, shape);
      x.add(p);
      feeds.put(p, t);
    }
    Output y = f.of(s, x);
    Tensor weights = random(Evaluator.run(y, feeds).shape(), 17);
    Output weighted = Arithmetic.mul(s, y, Const.of(s, weights));
    List<Grad> grads = Gradients.of(s, List.of(weighted), x);
    for (int i = 0; i < at.length; i++) {
      Output dx = Gradients.dense(s, grads.get(i));
      Tensor symbolic = Evaluator.run(dx, feeds);
      assertEquals(at[i].shape(), symbolic.shape(), "shape of gradient " + i);
      for (long k = 0; k < at[i].elements(); k++) {
        double numeric = numeric(weighted, feeds, x.get(i), k);
        assertEquals(
            numeric,
            symbolic.doubleAt(k),
            1e-6 * (1 + Math.abs(numeric)),
            "gradient of input "
                + i
                + " at "
                + k
                + ", shapes "
                + (known == null ? "known" : known));
      }
    }
  }

  private static double numeric(Output y, Map<Output, Tensor> feeds, Output x, long k) {
    double v = feeds.get(x).doubleAt(k);
    return (sum(y, feeds, x, k, v + STEP) - sum(y, feeds, x, k, v - STEP)) / (2 * STEP);
  }

  private static double sum(Output y, Map<Output, Tensor> feeds, Output x, long k, double v) {
    Tensor moved = feeds.get(x).copy();
    moved.setDouble(k, v);
    Map<Output, Tensor> at = new HashMap<>(feeds);
    at.put(x, moved);
    double sum = 0;
    for (double e : Evaluator.run(y, at).toDoubles()) {
      sum += e;
    }
    return sum;
  }

  /** Doubles between -1 and 1, none near 0. */
  public static Tensor random(Shape shape, long seed) {
    Random r = new Random(seed);
    Tensor t = Tensor.allocate(DType.DOUBLE, shape);
    for (long i = 0; i < t.elements(); i++) {
      double v = 0.1 + 0.9 * r.nextDouble();
      t.setDouble(i, r.nextBoolean() ? v : -v);
    }
    return t;
  }

  /** Doubles between 0.1 and 1. */
  public static Tensor positive(Shape shape, long seed) {
    Tensor t = random(shape, seed);
    for (long i = 0; i < t.elements(); i++) {
      t.setDouble(i, Math.abs(t.doubleAt(i)));
    }
    return t;
  }
}
