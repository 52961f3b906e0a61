package dev.millrace.train.variable;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Slice;
import dev.millrace.storage.checkpoint.ShapeAndSlice;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.function.IntToLongFunction;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/** The usual initial values. Random ones take their seed from the graph unless given one. */
public final class Initializers {
  /** From this many elements on a repeated value is filled in by an op, not kept in the graph. */
  private static final int FILL_FROM = 1000;

  /** What cutting a normal distribution at two standard deviations makes of a deviation of 1. */
  private static final double CUT_DEVIATION = .87962566103423978;

  private Initializers() {}

  /** All 0. */
  public static Initializer zeros() {
    return (scope, dtype, shape) -> repeated(scope, "zeros", dtype, shape, 0);
  }

  /** All 1. */
  public static Initializer ones() {
    return (scope, dtype, shape) -> repeated(scope, "ones", dtype, shape, 1);
  }

  /** Every element is {@code value}. */
  public static Initializer constant(double value) {
    return (scope, dtype, shape) -> repeated(scope, "Const", dtype, shape, value);
  }

  /** This value; the graph keeps the tensor. */
  public static Initializer value(Tensor value) {
    return new Value(value);
  }

  private record Value(Tensor value) implements Initializer {
    @Override
    public Output of(Scope scope, DType dtype, Shape shape) {
      return Const.of(scope.withName("Const"), value);
    }

    @Override
    public Initializer forPart(ShapeAndSlice part) {
      return (scope, dtype, shape) ->
          Slice.of(
              scope,
              of(scope, dtype, part.shape()),
              ints(shape.rank(), part.slice()::start),
              ints(shape.rank(), shape::dim));
    }

    private static int[] ints(int n, IntToLongFunction f) {
      return IntStream.range(0, n).map(i -> Math.toIntExact(f.applyAsLong(i))).toArray();
    }
  }

  /** Even over {@code min} (inclusive) to {@code max} (exclusive). */
  public static Initializer randomUniform(double min, double max) {
    return (scope, dtype, shape) -> uniform(scope, dtype, shape, min, max, null);
  }

  /** Evenly between {@code min} and {@code max}, the latter excluded. */
  public static Initializer randomUniform(double min, double max, long seed) {
    return (scope, dtype, shape) -> uniform(scope, dtype, shape, min, max, seed);
  }

  /** Normally distributed. */
  public static Initializer randomNormal(double mean, double deviation) {
    return (scope, dtype, shape) ->
        normal(scope, "random_normal", "RandomStandardNormal", dtype, shape, mean, deviation, null);
  }

  /** Normally distributed. */
  public static Initializer randomNormal(double mean, double deviation, long seed) {
    return (scope, dtype, shape) ->
        normal(scope, "random_normal", "RandomStandardNormal", dtype, shape, mean, deviation, seed);
  }

  /** Normally distributed, values beyond two deviations drawn again. */
  public static Initializer truncatedNormal(double mean, double deviation) {
    return (scope, dtype, shape) ->
        normal(scope, "truncated_normal", "TruncatedNormal", dtype, shape, mean, deviation, null);
  }

  /** Normally distributed, but none further than two deviations from the mean. */
  public static Initializer truncatedNormal(double mean, double deviation, long seed) {
    return (scope, dtype, shape) ->
        normal(scope, "truncated_normal", "TruncatedNormal", dtype, shape, mean, deviation, seed);
  }

  /** Even within a width that keeps the variance of signals in both directions (Glorot 2010). */
  public static Initializer glorotUniform() {
    return new Scaled(1, Initializers::meanFan, false, null);
  }

  /** The normal twin of {@link #glorotUniform}. */
  public static Initializer glorotNormal() {
    return new Scaled(1, Initializers::meanFan, true, null);
  }

  /** Even within a width that suits rectified units (He 2015). */
  public static Initializer heUniform() {
    return new Scaled(2, shape -> fans(shape)[0], false, null);
  }

  /** The normal twin of {@link #heUniform}. */
  public static Initializer heNormal() {
    return new Scaled(2, shape -> fans(shape)[0], true, null);
  }

  /**
   * Values whose variance is {@code scale} over the number of signals.
   *
   * @param fan that number, by the shape of a variable
   * @param whole the shape it goes by if the variable is a part; else null
   */
  private record Scaled(double scale, ToDoubleFunction<Shape> fan, boolean normal, Shape whole)
      implements Initializer {
    @Override
    public Output of(Scope scope, DType dtype, Shape shape) {
      checkKnown(shape);
      double signals = fan.applyAsDouble(whole == null ? shape : whole);
      double variance = scale / Math.max(1, signals);
      if (normal) {
        double deviation = Math.sqrt(variance) / CUT_DEVIATION;
        return Initializers.normal(
            scope, "truncated_normal", "TruncatedNormal", dtype, shape, 0, deviation, null);
      }
      double limit = Math.sqrt(3 * variance);
      return uniform(scope, dtype, shape, -limit, limit, null);
    }

    @Override
    public Initializer forPart(ShapeAndSlice part) {
      return new Scaled(scale, fan, normal, part.shape());
    }
  }

  private static double meanFan(Shape shape) {
    double[] fans = fans(shape);
    return (fans[0] + fans[1]) / 2;
  }

  /** How many inputs an output has, and the other way round; leading dimensions are a window. */
  private static double[] fans(Shape shape) {
    int rank = shape.rank();
    if (rank == 0) {
      return new double[] {1, 1};
    }
    if (rank == 1) {
      return new double[] {shape.dim(0), shape.dim(0)};
    }
    double window = shape.slice(0, rank - 2).elements();
    return new double[] {window * shape.dim(-2), window * shape.dim(-1)};
  }

  private static Output repeated(Scope scope, String name, DType dtype, Shape shape, double value) {
    checkKnown(shape);
    if (shape.elements() < FILL_FROM || dtype == DType.STRING) {
      Tensor t = Tensor.allocate(dtype, shape);
      for (long i = 0; i < shape.elements(); i++) {
        t.setDouble(i, value);
      }
      return Const.of(scope.withName(name), t);
    }
    Scope inner = scope.withSubScope(name);
    return inner
        .asNode()
        .node("Fill")
        .input(Const.dims(inner.withName("shape_as_tensor"), shape))
        .input(scalar(inner.withName("Const"), dtype, value))
        .add()
        .output();
  }

  private static Output uniform(
      Scope scope, DType dtype, Shape shape, double min, double max, Long seed) {
    checkKnown(shape);
    Scope inner = scope.withSubScope("random_uniform");
    Output dims = Const.dims(inner.withName("shape"), shape);
    Output low = scalar(inner.withName("min"), dtype, min);
    Output high = scalar(inner.withName("max"), dtype, max);
    Output random = random(inner, "RandomUniform", dims, dtype, seed);
    Output width = inner.withName("sub").node("Sub").input(high).input(low).add().output();
    Output scaled = inner.withName("mul").node("Mul").input(random).input(width).add().output();
    return inner.asNode().node("AddV2").input(scaled).input(low).add().output();
  }

  private static Output normal(
      Scope scope,
      String name,
      String op,
      DType dtype,
      Shape shape,
      double mean,
      double deviation,
      Long seed) {
    checkKnown(shape);
    Scope inner = scope.withSubScope(name);
    Output dims = Const.dims(inner.withName("shape"), shape);
    Output centre = scalar(inner.withName("mean"), dtype, mean);
    Output width = scalar(inner.withName("stddev"), dtype, deviation);
    Output random = random(inner, op, dims, dtype, seed);
    Output scaled = inner.withName("mul").node("Mul").input(random).input(width).add().output();
    return inner.asNode().node("AddV2").input(scaled).input(centre).add().output();
  }

  private static Output random(Scope scope, String op, Output dims, DType dtype, Long seed) {
    long[] seeds = Seeds.of(scope.graph(), seed);
    return scope
        .node(op)
        .input(dims)
        .attr("dtype", dtype)
        .attr("seed", seeds[0])
        .attr("seed2", seeds[1])
        .add()
        .output();
  }

  private static Output scalar(Scope scope, DType dtype, double value) {
    Tensor t = Tensor.allocate(dtype, Shape.scalar());
    t.setDouble(0, value);
    return Const.of(scope, t);
  }

  private static void checkKnown(Shape shape) {
    if (!shape.isKnown()) {
      throw MillraceException.invalid(
          "A variable needs a fully known shape to be initialised; this one is %s.", shape);
    }
  }
}
