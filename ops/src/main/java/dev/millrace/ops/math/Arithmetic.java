package dev.millrace.ops.math;

import static dev.millrace.ops.math.ComplexParts.conj;

import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.array.BroadcastGradient;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.LastShape;
import dev.millrace.ops.array.OnesLike;
import dev.millrace.ops.array.Select;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.BinaryOp;
import dev.millrace.tensor.math.elementwise.Elementwise;
import java.util.List;

/** The functions of two elements, broadcast against each other: {@code z = f(x, y)}. */
public final class Arithmetic {
  private static final String NUMBER =
      "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64,"
          + " complex64, complex128}";
  private static final String ORDERED =
      "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64,"
          + " uint64}";
  private static final String FLOATING =
      "T: {bfloat16, half, float, double, complex64, complex128}";

  /** What goes back to x and to y, both still of the shape of z. */
  private record Pair(Output x, Output y) {}

  private interface Derivative {
    Pair of(Scope s, Output x, Output y, GradientContext g);
  }

  private static final Derivative SUM = (s, x, y, g) -> new Pair(g.dy(), g.dy());
  private static final Derivative QUOTIENT =
      (s, x, y, g) ->
          new Pair(
              realDiv(s, g.dy(), y), mul(s, g.dy(), realDiv(s, realDiv(s, Unary.neg(s, x), y), y)));

  /** Addition; strings are joined. */
  public static final Op ADD =
      define(
              "Add",
              "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64,"
                  + " complex128, string}",
              BinaryOp.ADD)
          .gradient(broadcast(SUM))
          .build();

  public static final Op ADD_V2 =
      define("AddV2", NUMBER, BinaryOp.ADD).commutative().gradient(broadcast(SUM)).build();
  public static final Op SUB =
      define("Sub", NUMBER, BinaryOp.SUB)
          .gradient(broadcast((s, x, y, g) -> new Pair(g.dy(), Unary.neg(s, g.dy()))))
          .build();
  public static final Op MUL =
      define("Mul", NUMBER, BinaryOp.MUL)
          .commutative()
          .gradient(broadcast((s, x, y, g) -> new Pair(mul(s, g.dy(), y), mul(s, x, g.dy()))))
          .build();
  public static final Op DIV =
      define("Div", NUMBER, BinaryOp.DIV).gradient(broadcast(QUOTIENT)).build();
  public static final Op REAL_DIV =
      define("RealDiv", NUMBER, BinaryOp.DIV)
          .kernelPerNode(
              node -> {
                // Of integers the quotient would not be real; TensorFlow refuses them too.
                DType type = node.input(0).dtype();
                Refusal.unless(type.isDifferentiable(), node, type);
                return kernel(node, BinaryOp.DIV);
              })
          .gradient(broadcast(QUOTIENT))
          .build();
  public static final Op TRUNCATE_DIV =
      define("TruncateDiv", NUMBER, BinaryOp.TRUNCATE_DIV)
          .noGradient("it is piecewise constant")
          .build();
  public static final Op FLOOR_DIV =
      define("FloorDiv", NUMBER, BinaryOp.FLOOR_DIV).noGradient("it is piecewise constant").build();
  public static final Op FLOOR_MOD =
      define(
              "FloorMod",
              "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float,"
                  + " double}",
              BinaryOp.FLOOR_MOD)
          .gradient(
              broadcast(
                  (s, x, y, g) ->
                      new Pair(g.dy(), mul(s, g.dy(), Unary.neg(s, floorDiv(s, x, y))))))
          .build();
  public static final Op TRUNCATE_MOD = truncateMod("TruncateMod");

  /** The same under its older name. */
  public static final Op MOD = truncateMod("Mod");

  public static final Op DIV_NO_NAN =
      define("DivNoNan", FLOATING, BinaryOp.DIV_NO_NAN)
          .gradient(
              broadcast(
                  (s, x, y, g) ->
                      new Pair(
                          divNoNan(s, g.dy(), y),
                          mul(s, g.dy(), divNoNan(s, divNoNan(s, Unary.neg(s, x), y), y)))))
          .build();
  public static final Op MUL_NO_NAN =
      define("MulNoNan", FLOATING, BinaryOp.MUL_NO_NAN)
          .gradient(
              broadcast(
                  (s, x, y, g) ->
                      new Pair(
                          s.add(Arithmetic.MUL_NO_NAN, g.dy(), y).output(),
                          s.add(Arithmetic.MUL_NO_NAN, x, g.dy()).output())))
          .build();
  public static final Op MAXIMUM = extremum("Maximum", BinaryOp.MAXIMUM, Comparisons.GREATER_EQUAL);
  public static final Op MINIMUM = extremum("Minimum", BinaryOp.MINIMUM, Comparisons.LESS_EQUAL);
  public static final Op SQUARED_DIFFERENCE =
      define(
              "SquaredDifference",
              "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}",
              BinaryOp.SQUARED_DIFFERENCE)
          .commutative()
          .gradient(
              broadcast(
                  (s, x, y, g) -> {
                    // Of complex numbers the op takes the square of the distance, a real number.
                    Output apart = sub(s, g.input(0), g.input(1));
                    Output real = Cast.of(s, g.dy(), x.dtype().realPart());
                    Output dx = mul(s, scaled(s, Cast.of(s, real, x.dtype()), 2), apart);
                    return new Pair(dx, Unary.neg(s, dx));
                  }))
          .build();
  public static final Op POW =
      define(
              "Pow",
              "T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64,"
                  + " complex128}",
              BinaryOp.POW)
          .gradient(broadcast(Arithmetic::powGradient))
          .build();
  public static final Op ATAN2 =
      Op.define("Atan2")
          .attr("T: {bfloat16, half, float, double}")
          .input("y: T")
          .input("x: T")
          .output("z: T")
          .shape(Shapes.broadcast())
          .kernelPerNode(node -> kernel(node, BinaryOp.ATAN2))
          .gradient(
              broadcast(
                  (s, y, x, g) -> {
                    Output q = realDiv(s, g.dy(), add(s, Unary.square(s, x), Unary.square(s, y)));
                    return new Pair(mul(s, x, q), mul(s, Unary.neg(s, y), q));
                  }))
          .build();

  static final List<Op> ALL =
      List.of(
          ADD,
          ADD_V2,
          SUB,
          MUL,
          DIV,
          REAL_DIV,
          TRUNCATE_DIV,
          FLOOR_DIV,
          FLOOR_MOD,
          TRUNCATE_MOD,
          MOD,
          DIV_NO_NAN,
          MUL_NO_NAN,
          MAXIMUM,
          MINIMUM,
          SQUARED_DIFFERENCE,
          POW,
          ATAN2);

  private Arithmetic() {}

  /**
   * {@code x + y}; like all here, element by element, with dimensions of size 1 repeated to fit.
   */
  public static Output add(Scope scope, Output x, Output y) {
    return scope.add(ADD_V2, x, y).output();
  }

  /** {@code x - y}. */
  public static Output sub(Scope scope, Output x, Output y) {
    return scope.add(SUB, x, y).output();
  }

  /** {@code x * y}, element by element. */
  public static Output mul(Scope scope, Output x, Output y) {
    return scope.add(MUL, x, y).output();
  }

  /** {@code x / y} of floating numbers. */
  public static Output realDiv(Scope scope, Output x, Output y) {
    return scope.add(REAL_DIV, x, y).output();
  }

  /** {@code x / y}, rounded towards minus infinity. */
  public static Output floorDiv(Scope scope, Output x, Output y) {
    return scope.add(FLOOR_DIV, x, y).output();
  }

  /** What {@link #floorDiv} leaves: of the sign of {@code y}. */
  public static Output floorMod(Scope scope, Output x, Output y) {
    return scope.add(FLOOR_MOD, x, y).output();
  }

  /** The larger of each two. */
  public static Output maximum(Scope scope, Output x, Output y) {
    return scope.add(MAXIMUM, x, y).output();
  }

  /** The smaller of each two. */
  public static Output minimum(Scope scope, Output x, Output y) {
    return scope.add(MINIMUM, x, y).output();
  }

  /** {@code x} to the power of {@code y}. */
  public static Output pow(Scope scope, Output x, Output y) {
    return scope.add(POW, x, y).output();
  }

  /** {@code (x - y) * (x - y)}. */
  public static Output squaredDifference(Scope scope, Output x, Output y) {
    return scope.add(SQUARED_DIFFERENCE, x, y).output();
  }

  /** {@code x} times a constant. */
  public static Output scaled(Scope scope, Output x, double factor) {
    return mul(scope, x, Const.of(scope, x.dtype(), factor));
  }

  private static Output divNoNan(Scope scope, Output x, Output y) {
    return scope.add(DIV_NO_NAN, x, y).output();
  }

  private static Op.Builder define(String name, String types, BinaryOp f) {
    return Op.define(name)
        .attr(types)
        .input("x: T")
        .input("y: T")
        .output("z: T")
        .shape(Shapes.broadcast())
        .kernelPerNode(node -> kernel(node, f));
  }

  private static Op truncateMod(String name) {
    return define(name, "T: {int32, int64, half, bfloat16, float, double}", BinaryOp.TRUNCATE_MOD)
        .gradient(Gradient.undefined("TensorFlow defines none; FloorMod has one"))
        .build();
  }

  /** The gradient goes to whichever operand was chosen, to x where they are equal. */
  private static Op extremum(String name, BinaryOp f, Op choosesX) {
    return define(name, ORDERED, f)
        .gradient(
            broadcast(
                (s, x, y, g) -> {
                  Output ofX = s.add(choosesX, x, y).output();
                  Output zero = Const.of(s, x.dtype(), 0);
                  return new Pair(Select.of(s, ofX, g.dy(), zero), Select.of(s, ofX, zero, g.dy()));
                }))
        .build();
  }

  /** The logarithm is taken as 0 where x is not positive; of a complex one, where it is 0. */
  private static Pair powGradient(Scope s, Output x, Output y, GradientContext g) {
    Output dx = mul(s, g.dy(), mul(s, y, pow(s, x, sub(s, y, Const.of(s, y.dtype(), 1)))));
    Op hasLog = x.dtype().isComplex() ? Comparisons.NOT_EQUAL : Comparisons.GREATER;
    Output positive = s.add(hasLog, x, Const.of(s, x.dtype(), 0)).output();
    Output safe = Select.of(s, positive, x, OnesLike.of(s, x));
    Output log = Select.of(s, positive, Unary.log(s, safe), ZerosLike.of(s, x));
    return new Pair(dx, mul(s, mul(s, g.dy(), conj(s, g.output(0))), log));
  }

  /** Sums what a derivative gives over the dimensions each operand was repeated along. */
  private static Gradient broadcast(Derivative d) {
    return g -> {
      Output x = g.input(0);
      Output y = g.input(1);
      Pair p = d.of(g.scope(), conj(g.scope(), x), conj(g.scope(), y), g);
      g.dx(0, BroadcastGradient.reduce(g.scope(), p.x, x, y));
      g.dx(1, BroadcastGradient.reduce(g.scope(), p.y, y, x));
    };
  }

  private static Kernel kernel(Node node, BinaryOp f) {
    DType type = node.input(0).dtype();
    if (type == DType.STRING) {
      return Strings::join;
    }
    Refusal.unless(f.supports(type), node, type);
    LastShape both = new LastShape(Shape::broadcast);
    return c -> {
      Tensor x = c.input(0);
      Tensor y = c.input(1);
      Shape s = both.of(x.shape(), y.shape());
      Elementwise.binary(f, x, y, UnaryGrad.result(c, s));
    };
  }
}
