package dev.millrace.ops.matrix;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.ArrayList;
import java.util.List;

/** Matrices of diagonals, the diagonals of matrices, and matrices with other diagonals. */
final class MatrixDiag {
  private static final String ALIGN =
      "align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'";

  static final List<Op> ALL = define();

  private MatrixDiag() {}

  private static List<Op> define() {
    List<Op> ops = new ArrayList<>();
    for (int version = 1; version <= 3; version++) {
      int v = version;
      Op.Builder diag = begin("MatrixDiag", v).input("diagonal: T");
      Op.Builder part = begin("MatrixDiagPart", v).input("input: T");
      Op.Builder set = begin("MatrixSetDiag", v).input("input: T").input("diagonal: T");
      if (v > 1) {
        diag.input("k: int32").input("num_rows: int32").input("num_cols: int32");
        diag.input("padding_value: T");
        part.input("k: int32").input("padding_value: T");
        set.input("k: int32");
      }
      ops.add(
          diag.output("output: T")
              .shape(c -> v == 1 ? squares(c) : matrices(c))
              .kernel(c -> diag(c, v))
              .gradient(g -> diagGradient(g, v))
              .build());
      ops.add(
          part.output("diagonal: T")
              .shape(c -> diagonals(c, v))
              .kernel(c -> part(c, v))
              .gradient(g -> partGradient(g, v))
              .build());
      ops.add(
          set.output("output: T")
              .shape(MatrixDiag::same)
              .kernel(c -> set(c, v))
              .gradient(g -> setGradient(g, v))
              .build());
    }
    return List.copyOf(ops);
  }

  private static Op.Builder begin(String name, int version) {
    Op.Builder op = Op.define(version == 1 ? name : name + "V" + version).attr("T: type");
    return version == 3 ? op.attr(ALIGN) : op;
  }

  /** Before they could be aligned, diagonals began at the left. */
  private static String align(Node node) {
    return node.hasAttr("align") ? node.stringAttr("align") : "LEFT_LEFT";
  }

  // ---- shapes ----

  private static List<Shape> squares(ShapeContext c) {
    Shape s = c.input(0);
    if (!s.hasRank()) {
      return List.of(s);
    }
    atLeast(s, 1);
    return List.of(s.concat(Shape.of(s.dim(-1))));
  }

  private static List<Shape> same(ShapeContext c) {
    if (c.input(0).hasRank()) {
      atLeast(c.input(0), 2);
    }
    return List.of(c.input(0));
  }

  private static void atLeast(Shape s, int rank) {
    if (s.rank() < rank) {
      throw MillraceException.invalid("input must be at least %d-dim, received shape: %s", rank, s);
    }
  }

  private static List<Shape> matrices(ShapeContext c) {
    Shape s = c.input(0);
    Tensor k = c.constant(1);
    Tensor rows = c.constant(2);
    Tensor columns = c.constant(3);
    if (!s.hasRank() || k == null) {
      return List.of(Shape.unknown());
    }
    long count = k.longAt(k.elements() - 1) - Diagonals.low(k) + 1;
    atLeast(s, count == 1 ? 1 : 2);
    Shape batch = s.slice(0, s.rank() - (count == 1 ? 1 : 2));
    boolean isKnown = s.isKnown() && rows != null && columns != null;
    return List.of(
        isKnown ? size(s, k, rows, columns) : batch.concat(Shape.of(Shape.UNKNOWN, Shape.UNKNOWN)));
  }

  /** The shape of matrices with such diagonals; sizes of -1 are the least possible. */
  private static Shape size(Shape s, Tensor k, Tensor rowsGiven, Tensor columnsGiven) {
    atLeast(s, 1);
    long low = Diagonals.low(k);
    long high = k.longAt(k.elements() - 1);
    if (low != high && (s.rank() < 2 || s.dim(-2) != high - low + 1)) {
      throw MillraceException.invalid(
          "The number of diagonals provided in the input does not match the lower_diag_index and"
              + " upper_diag_index range: %s for %d to %d",
          s, low, high);
    }
    long longest = s.dim(-1);
    long leastRows = longest - Math.min(high, 0);
    long leastColumns = longest + Math.max(low, 0);
    long rows = rowsGiven.longAt(0);
    long columns = columnsGiven.longAt(0);
    if (rows == -1 && columns == -1) {
      rows = Math.max(leastRows, leastColumns);
      columns = rows;
    }
    rows = rows == -1 ? leastRows : rows;
    columns = columns == -1 ? leastColumns : columns;
    if (rows < leastRows) {
      throw MillraceException.invalid("The number of rows is too small.");
    }
    if (columns < leastColumns) {
      throw MillraceException.invalid("The number of columns is too small.");
    }
    if (rows != leastRows && columns != leastColumns) {
      throw MillraceException.invalid(
          "The number of rows or columns is not consistent with the specified d_lower, d_upper, and"
              + " diagonal.");
    }
    return s.slice(0, s.rank() - (low == high ? 1 : 2)).concat(Shape.of(rows, columns));
  }

  private static List<Shape> diagonals(ShapeContext c, int version) {
    Shape s = c.input(0);
    Tensor k = version == 1 ? null : c.constant(1);
    if (!s.hasRank() || (version > 1 && k == null)) {
      return List.of(Shape.unknown());
    }
    atLeast(s, 2);
    Shape batch = s.slice(0, s.rank() - 2);
    if (s.dim(-1) < 0 || s.dim(-2) < 0) {
      long count = version == 1 ? 1 : k.longAt(k.elements() - 1) - Diagonals.low(k) + 1;
      return List.of(
          batch.concat(count == 1 ? Shape.of(Shape.UNKNOWN) : Shape.of(count, Shape.UNKNOWN)));
    }
    return List.of(band(version, k, s, c.node()).packed(batch));
  }

  private static Diagonals band(int version, Tensor k, Shape matrices, Node node) {
    return version == 1
        ? Diagonals.main(matrices.dim(-2), matrices.dim(-1))
        : Diagonals.of(k, matrices.dim(-2), matrices.dim(-1), align(node));
  }

  // ---- kernels ----

  private static void diag(KernelContext c, int version) {
    Tensor x = c.input(0);
    Shape s = x.shape();
    atLeast(s, 1);
    Shape out =
        version == 1
            ? s.concat(Shape.of(s.dim(-1)))
            : size(s, c.input(1), single(c, 2), single(c, 3));
    Tensor y = filled(c, out, version == 1 ? null : single(c, 4));
    Diagonals d = band(version, version == 1 ? null : c.input(1), out, c.node());
    for (long b = 0; b < out.slice(0, out.rank() - 2).elements(); b++) {
      d.each(b, (packed, matrix) -> StridedCopy.copyRun(x, packed, y, matrix, 1));
    }
  }

  private static void part(KernelContext c, int version) {
    Tensor x = c.input(0);
    Shape s = x.shape();
    atLeast(s, 2);
    Diagonals d = band(version, version == 1 ? null : c.input(1), s, c.node());
    Shape batch = s.slice(0, s.rank() - 2);
    Tensor y = filled(c, d.packed(batch), version == 1 ? null : single(c, 2));
    for (long b = 0; b < batch.elements(); b++) {
      d.each(b, (packed, matrix) -> StridedCopy.copyRun(x, matrix, y, packed, 1));
    }
  }

  private static void set(KernelContext c, int version) {
    Tensor x = c.input(0);
    Tensor diagonal = c.input(1);
    Shape s = x.shape();
    atLeast(s, 2);
    Diagonals d = band(version, version == 1 ? null : c.input(2), s, c.node());
    Shape batch = s.slice(0, s.rank() - 2);
    if (!diagonal.shape().equals(d.packed(batch))) {
      throw MillraceException.invalid(
          "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1]"
              + " is not equal to the longests diagonal in range [%d:%d].\n"
              + "Input shape: %s\n"
              + "Diagonal shape: %s\n"
              + "Expected diagonal shape: %s",
          d.low(), d.high(), s, diagonal.shape(), d.packed(batch));
    }
    Tensor y = c.allocate(0, s);
    StridedCopy.copyRun(x, 0, y, 0, x.elements());
    for (long b = 0; b < batch.elements(); b++) {
      d.each(b, (packed, matrix) -> StridedCopy.copyRun(diagonal, packed, y, matrix, 1));
    }
  }

  private static Tensor single(KernelContext c, int i) {
    Tensor t = c.input(i);
    if (t.elements() != 1) {
      throw MillraceException.invalid(
          "%s must have exactly one element, received shape: %s",
          c.node().op().inputs().get(i).name(), t.shape());
    }
    return t;
  }

  /** Output 0, all zeros or all {@code padding}. */
  private static Tensor filled(KernelContext c, Shape s, Tensor padding) {
    Tensor y = c.allocate(0, s);
    if (padding == null) {
      ZerosLike.clear(y);
      return y;
    }
    for (long i = 0; i < y.elements(); i++) {
      StridedCopy.copyRun(padding, 0, y, i, 1);
    }
    return y;
  }

  // ---- gradients ----

  private static void diagGradient(GradientContext g, int version) {
    Scope s = g.scope();
    NodeBuilder part = s.node("MatrixDiagPart" + suffix(version)).input(g.dy());
    if (version > 1) {
      aligned(part.input(g.input(1)).input(zero(g)), g, version);
    }
    Output inside = part.add().output();
    g.dx(0, inside);
    if (version > 1) {
      // What is not of a diagonal is of the padding.
      g.dx(4, Arithmetic.sub(s, Reduction.sumAll(s, g.dy()), Reduction.sumAll(s, inside)));
    }
  }

  private static void partGradient(GradientContext g, int version) {
    Scope s = g.scope();
    NodeBuilder set =
        s.node("MatrixSetDiag" + suffix(version)).input(ZerosLike.of(s, g.input(0))).input(g.dy());
    if (version > 1) {
      aligned(set.input(g.input(1)), g, version);
    }
    Output dx = set.add().output();
    g.dx(0, dx);
    if (version > 1) {
      g.dx(2, Arithmetic.sub(s, Reduction.sumAll(s, g.dy()), Reduction.sumAll(s, dx)));
    }
  }

  private static void setGradient(GradientContext g, int version) {
    Scope s = g.scope();
    NodeBuilder part = s.node("MatrixDiagPart" + suffix(version)).input(g.dy());
    NodeBuilder rest =
        s.node("MatrixSetDiag" + suffix(version)).input(g.dy()).input(ZerosLike.of(s, g.input(1)));
    if (version > 1) {
      aligned(part.input(g.input(2)).input(zero(g)), g, version);
      aligned(rest.input(g.input(2)), g, version);
    }
    g.dx(0, rest.add().output());
    g.dx(1, part.add().output());
  }

  private static String suffix(int version) {
    return version == 1 ? "" : "V" + version;
  }

  private static void aligned(NodeBuilder b, GradientContext g, int version) {
    if (version == 3) {
      b.attr("align", align(g.node()));
    }
  }

  private static Output zero(GradientContext g) {
    DType type = g.node().typeAttr("T");
    Tensor t = Tensor.allocate(type, Shape.scalar());
    t.setLong(0, 0);
    return Const.of(g.scope(), t);
  }
}
