package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Complex numbers, what they are made of, and Fourier transforms. */
public final class ComplexCases extends CaseTable {
  private static final List<DType> TYPES = List.of(DType.COMPLEX64, DType.COMPLEX128);
  private static final Map<String, DType> DOUBLES = Map.of("Tout", DType.DOUBLE);

  public ComplexCases() {
    parts();
    transforms();
    realTransforms();
    gradients();
  }

  private void parts() {
    for (DType dtype : TYPES) {
      DType real = dtype.realPart();
      for (Shape shape : SHAPES) {
        for (String op : List.of("Real", "Imag", "ComplexAbs", "Angle")) {
          op(op, any(dtype, shape.dims())).with("Tout", real);
        }
        op("Conj", any(dtype, shape.dims()));
      }
      for (List<Shape> pair : PAIRS) {
        Tensor re = any(real, pair.get(0).dims());
        op("Complex", re, any(real, pair.get(1).dims())).with("Tout", dtype);
      }
    }
    for (DType dtype : Kernels.types("ConjugateTranspose", "T")) {
      op("ConjugateTranspose", any(dtype, 2, 3, 4), ints(2, 0, 1)).fixed(1);
    }
    op("ConjugateTranspose", doubles(2, 3), longs(1, 0)).fixed(1);
    op("ConjugateTranspose", doubles(2, 3), ints(1, 1)).fails(Code.INVALID_ARGUMENT);
  }

  private void transforms() {
    for (String way : List.of("FFT", "IFFT")) {
      for (DType dtype : TYPES) {
        for (int n : new int[] {1, 2, 3, 5, 8, 12, 64, 97}) {
          op(way, any(dtype, 3, n));
        }
        op(way, any(dtype, 2, 0));
        op(way + "2D", any(dtype, 2, 3, 4));
        op(way + "2D", any(dtype, 5, 6));
        op(way + "3D", any(dtype, 2, 3, 4, 5));
      }
      op(way, any(DType.COMPLEX64)).fails(Code.INVALID_ARGUMENT);
      op(way + "2D", any(DType.COMPLEX64, 4)).fails(Code.INVALID_ARGUMENT);
      op(way + "3D", any(DType.COMPLEX64, 4, 4)).fails(Code.INVALID_ARGUMENT);
    }
  }

  private void realTransforms() {
    for (DType dtype : TYPES) {
      DType real = dtype.realPart();
      for (int n : new int[] {1, 2, 3, 6, 7, 16}) {
        typed(op("RFFT", any(real, 2, n), ints(n)).fixed(1), dtype);
        typed(op("IRFFT", any(dtype, 2, n / 2 + 1), ints(n)).fixed(1), dtype);
      }
      typed(op("RFFT", any(real, 2, 9), ints(6)).fixed(1), dtype);
      typed(op("IRFFT", any(dtype, 2, 9), ints(6)).fixed(1), dtype);
      typed(op("RFFT2D", any(real, 2, 5, 6), ints(5, 6)).fixed(1), dtype);
      typed(op("RFFT2D", any(real, 2, 5, 6), ints(3, 5)).fixed(1), dtype);
      typed(op("IRFFT2D", any(dtype, 2, 5, 4), ints(5, 6)).fixed(1), dtype);
      typed(op("IRFFT2D", any(dtype, 2, 5, 4), ints(3, 5)).fixed(1), dtype);
      typed(op("RFFT3D", any(real, 2, 3, 4, 5), ints(3, 4, 5)).fixed(1), dtype);
      typed(op("IRFFT3D", any(dtype, 2, 3, 4, 3), ints(3, 4, 5)).fixed(1), dtype);
    }
    for (String op : List.of("RFFT", "IRFFT")) {
      Tensor x = op.equals("RFFT") ? floats(2, 4) : any(DType.COMPLEX64, 2, 4);
      op(op, x, ints(9)).fails(Code.INVALID_ARGUMENT);
      op(op, x, ints(-1)).fails(Code.INVALID_ARGUMENT);
      op(op, x, ints(2, 2)).fails(Code.INVALID_ARGUMENT);
      op(op + "2D", x, ints(9, 2)).fails(Code.INVALID_ARGUMENT);
      op(op + "3D", x, ints(2, 2, 2)).fails(Code.INVALID_ARGUMENT);
    }
  }

  private static void typed(OpCase c, DType complex) {
    c.with("Tcomplex", complex).with("Treal", complex.realPart()).noGradient();
  }

  /** Each op between real numbers, which finite differences can be taken of. */
  private void gradients() {
    for (String op :
        List.of("Conj", "Exp", "Log", "Sqrt", "Tanh", "Sigmoid", "Sin", "Square", "Reciprocal")) {
      chain(op, Shape.of(3, 3), g -> g.add("z", op, Map.of(), "x"));
    }
    for (String op : List.of("Mul", "RealDiv", "Pow", "SquaredDifference", "MatMul")) {
      chain(op, Shape.of(3, 3), g -> g.add("z", op, Map.of(), "x", "other"));
      chain(op + ", second", Shape.of(3, 3), g -> g.add("z", op, Map.of(), "other", "x"));
    }
    for (boolean turned : new boolean[] {false, true}) {
      Map<String, Object> first = Map.of("adj_x", turned);
      Map<String, Object> transposed = Map.of("transpose_a", turned);
      chain(
          "BatchMatMulV2, adj_x " + turned,
          Shape.of(2, 3, 3),
          g -> g.add("z", "BatchMatMulV2", first, "x", "other"));
      chain(
          "MatMul, transpose_a " + turned,
          Shape.of(3, 3),
          g -> g.add("z", "MatMul", transposed, "x", "other"));
    }
    for (String op : List.of("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D")) {
      chain(op, Shape.of(2, 3, 4), g -> g.add("z", op, Map.of(), "x"));
    }
    chain("Prod", Shape.of(3, 3), g -> g.add("z", "Prod", Map.of(), "x", vector(g, 1)));
    chain("Cumprod", Shape.of(3), g -> g.add("z", "Cumprod", Map.of(), "x", scalarOf(g, 0)));
    chain(
        "ConjugateTranspose",
        Shape.of(3, 2),
        g -> g.add("z", "ConjugateTranspose", Map.of(), "x", vector(g, 1, 0)));
    realGradients();
  }

  private void realGradients() {
    for (String op : List.of("Real", "Imag", "ComplexAbs", "Angle")) {
      Scenario s = begin(op, Shape.of(3, 3));
      s.graph().add("y", op, DOUBLES, "x");
      end(s, Shape.of(3, 3));
    }
    Map<String, DType> types = Map.of("Treal", DType.DOUBLE, "Tcomplex", DType.COMPLEX128);
    int[][] lengths = {{6}, {5}, {4, 6}, {3, 5}, {2, 4, 6}};
    for (int[] length : lengths) {
      String rank = length.length == 1 ? "" : length.length + "D";
      Shape back = Shape.of(2, 4, 4);
      Scenario s = begin("IRFFT" + rank + " " + length[length.length - 1], back);
      s.graph().add("y", "IRFFT" + rank, types, "x", vector(s.graph(), length));
      end(s, back);
      Shape there = Shape.of(2, 4, 6);
      Scenario f =
          scenario("RFFT" + rank + " " + length[length.length - 1] + " of complex numbers");
      f.graph().placeholder("a", DType.DOUBLE, there);
      f.graph().add("z", "RFFT" + rank, types, "a", vector(f.graph(), length));
      sum(f.graph());
      Map<String, Tensor> feeds = Map.of("a:0", apart(there));
      f.fetch(feeds, "y").differentiate("y:0", "a:0", feeds);
    }
  }

  /** The derivative of what {@code node} makes of x, to z, by the parts of x. */
  private void chain(String name, Shape shape, Consumer<GraphWriter> node) {
    Scenario s = begin(name, shape);
    s.graph().constant("c", apart(shape));
    s.graph().constant("d", apart(shape));
    s.graph().add("other", "Complex", Map.of("Tout", DType.COMPLEX128), "c", "d");
    node.accept(s.graph());
    sum(s.graph());
    end(s, shape);
  }

  private Scenario begin(String name, Shape shape) {
    Scenario s = scenario(name + " of complex numbers");
    s.graph().placeholder("a", DType.DOUBLE, shape);
    s.graph().placeholder("b", DType.DOUBLE, shape);
    s.graph().add("x", "Complex", Map.of("Tout", DType.COMPLEX128), "a", "b");
    return s;
  }

  /** Real numbers y that depend on both parts of z, not equally. */
  private static void sum(GraphWriter g) {
    g.add("re", "Real", DOUBLES, "z");
    g.add("im", "Imag", DOUBLES, "z");
    g.add("square", "Square", Map.of(), "re");
    g.add("y", "AddV2", Map.of(), "square", "im");
  }

  private void end(Scenario s, Shape shape) {
    Map<String, Tensor> feeds = Map.of("a:0", apart(shape), "b:0", apart(shape));
    s.fetch(feeds, "y").differentiate("y:0", "a:0", feeds).differentiate("y:0", "b:0", feeds);
  }

  /** Doubles so far from zero that quotients have slopes that differences can tell. */
  private Tensor apart(Shape shape) {
    Tensor t = doubles(shape.dims());
    for (long i = 0; i < t.elements(); i++) {
      t.setDouble(i, t.doubleAt(i) + 3);
    }
    return t;
  }

  private static String vector(GraphWriter g, int... v) {
    return g.constant("vector", ints(v));
  }

  private static String scalarOf(GraphWriter g, int v) {
    return g.constant("scalar", scalar(v));
  }
}
