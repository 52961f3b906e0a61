package dev.millrace.interop.conformance;

import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/** The cases of a family of ops. A subclass declares them in its constructor. */
public abstract class CaseTable {
  /** Empty, scalar, one element, odd lengths beside every vector width, several ranks. */
  public static final List<Shape> SHAPES =
      List.of(
          Shape.scalar(),
          Shape.of(0),
          Shape.of(1),
          Shape.of(37),
          Shape.of(3, 4),
          Shape.of(2, 0, 3),
          Shape.of(2, 3, 4),
          Shape.of(1, 70));

  /** Pairs that broadcast, in both directions and to empty ones. */
  public static final List<List<Shape>> PAIRS =
      List.of(
          List.of(Shape.scalar(), Shape.scalar()),
          List.of(Shape.of(37), Shape.of(37)),
          List.of(Shape.scalar(), Shape.of(5)),
          List.of(Shape.of(5), Shape.scalar()),
          List.of(Shape.of(3, 4), Shape.of(4)),
          List.of(Shape.of(4), Shape.of(3, 4)),
          List.of(Shape.of(3, 1), Shape.of(1, 4)),
          List.of(Shape.of(2, 3, 4), Shape.of(3, 1)),
          List.of(Shape.of(2, 1, 3, 1), Shape.of(1, 5, 1, 2)),
          List.of(Shape.of(6, 33), Shape.of(33)),
          List.of(Shape.of(6, 33), Shape.of(6, 1)),
          List.of(Shape.of(0), Shape.of(1)),
          List.of(Shape.of(2, 1), Shape.of(2, 0)));

  public final Values values = new Values(getClass().getSimpleName().hashCode());
  private final List<OpCase> cases = new ArrayList<>();
  private final List<Scenario> scenarios = new ArrayList<>();

  /** Cases of single ops. */
  public final List<OpCase> cases() {
    return cases;
  }

  /** Cases with state. */
  public final List<Scenario> scenarios() {
    return scenarios;
  }

  /** Declares a case of {@code op}. */
  protected final OpCase op(String op, Tensor... inputs) {
    OpCase c = new OpCase(op, List.of(inputs));
    cases.add(c);
    return c;
  }

  protected final void add(OpCase c) {
    cases.add(c);
  }

  protected final void add(Scenario s) {
    scenarios.add(s);
  }

  /** Declares a case with state; the name begins with the op it is about. */
  protected final Scenario scenario(String name) {
    Scenario s = new Scenario(name);
    scenarios.add(s);
    return s;
  }

  protected final Tensor any(DType dtype, long... dims) {
    return values.any(dtype, dims);
  }

  /** Floats between -2 and 2. */
  protected final Tensor floats(long... dims) {
    return values.any(DType.FLOAT, dims);
  }

  /** Doubles between -2 and 2. */
  protected final Tensor doubles(long... dims) {
    return values.any(DType.DOUBLE, dims);
  }

  /** Different numbers, none of them next to another. */
  protected final Tensor distinct(DType dtype, long... dims) {
    return values.of(Domain.DISTINCT, dtype, Shape.of(dims));
  }

  protected static Tensor ints(int... v) {
    return Tensor.vector(v);
  }

  protected static Tensor longs(long... v) {
    return Tensor.vector(v);
  }

  protected static Tensor scalar(int v) {
    return Tensor.scalar(v);
  }

  protected static Tensor scalar(DType dtype, double v) {
    return Values.filled(dtype, v);
  }
}
