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
  static final List<Shape> SHAPES =
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
  static final List<List<Shape>> PAIRS =
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

  final Values values = new Values(getClass().getSimpleName().hashCode());
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

  /** Every table there is. */
  public static List<CaseTable> all() {
    List<CaseTable> tables = new ArrayList<>(written());
    tables.add(new VariantCases(tables));
    return tables;
  }

  private static List<CaseTable> written() {
    return List.of(
        new ElementwiseCases(),
        new MathCases(),
        new ArrayCases(),
        new IndexCases(),
        new SparseCases(),
        new PlumbingCases(),
        new NnCases(),
        new ConvolutionCases(),
        new StateCases(),
        new UpdateCases(),
        new QueueCases(),
        new ControlFlowCases(),
        new CollectiveCases(),
        new TensorArrayCases(),
        new ListCases(),
        new GradientCases(),
        new TextCases(),
        new StringCases(),
        new LookupCases(),
        new ParsingCases(),
        new StatelessCases(),
        new MatrixCases(),
        new FileCases(),
        new DatasetCases());
  }

  /** Declares a case of {@code op}. */
  final OpCase op(String op, Tensor... inputs) {
    OpCase c = new OpCase(op, List.of(inputs));
    cases.add(c);
    return c;
  }

  final void add(OpCase c) {
    cases.add(c);
  }

  final void add(Scenario s) {
    scenarios.add(s);
  }

  /** Declares a case with state; the name begins with the op it is about. */
  final Scenario scenario(String name) {
    Scenario s = new Scenario(name);
    scenarios.add(s);
    return s;
  }

  final Tensor any(DType dtype, long... dims) {
    return values.any(dtype, dims);
  }

  /** Floats between -2 and 2. */
  final Tensor floats(long... dims) {
    return values.any(DType.FLOAT, dims);
  }

  /** Doubles between -2 and 2. */
  final Tensor doubles(long... dims) {
    return values.any(DType.DOUBLE, dims);
  }

  /** Different numbers, none of them next to another. */
  final Tensor distinct(DType dtype, long... dims) {
    return values.of(Domain.DISTINCT, dtype, Shape.of(dims));
  }

  static Tensor ints(int... v) {
    return Tensor.vector(v);
  }

  static Tensor longs(long... v) {
    return Tensor.vector(v);
  }

  static Tensor scalar(int v) {
    return Tensor.scalar(v);
  }

  static Tensor scalar(DType dtype, double v) {
    return Values.filled(dtype, v);
  }
}
