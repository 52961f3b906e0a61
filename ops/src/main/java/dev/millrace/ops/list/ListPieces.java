package dev.millrace.ops.list;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.value.TensorList;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** Lists whose elements are pieces of one tensor, of as many rows each as a vector says. */
final class ListPieces {
  static final Op SPLIT =
      Op.define("TensorListSplit")
          .attr("element_dtype: type")
          .attr("shape_type: {int32, int64}")
          .input("tensor: element_dtype")
          .input("element_shape: shape_type")
          .input("lengths: int64")
          .output("output_handle: variant")
          .shape(Shapes.scalar())
          .kernel(ListPieces::split)
          .gradient(
              g ->
                  g.dx(
                      0,
                      g.scope()
                          .node("TensorListConcatV2")
                          .input(g.dy())
                          .input(g.input(1))
                          .input(g.input(2))
                          .attr("element_dtype", g.node().typeAttr("element_dtype"))
                          .add()
                          .output(0)))
          .build();

  static final Op CONCAT =
      Op.define("TensorListConcatV2")
          .attr("element_dtype: type")
          .attr("shape_type: {int32, int64}")
          .input("input_handle: variant")
          .input("element_shape: shape_type")
          .input("leading_dims: int64")
          .output("tensor: element_dtype")
          .output("lengths: int64")
          .shape(ListPieces::inferConcat)
          .kernel(ListPieces::concat)
          .gradient(
              g ->
                  g.dx(
                      0,
                      g.scope()
                          .node("TensorListSplit")
                          .input(g.dy())
                          .input(g.input(1))
                          .input(g.output(1))
                          .attr("element_dtype", g.node().typeAttr("element_dtype"))
                          .add()
                          .output()))
          .build();

  static final List<Op> ALL = List.of(SPLIT, CONCAT);

  private ListPieces() {}

  private static List<Shape> inferConcat(ShapeContext c) {
    Shape s = c.constantAsShape(1);
    Shape lengths = Shape.of(Shape.UNKNOWN);
    return List.of(
        s.hasRank() && s.rank() > 0 ? s.withDim(0, Shape.UNKNOWN) : Shape.unknown(), lengths);
  }

  private static void split(KernelContext c) {
    Tensor t = c.input(0);
    Tensor lengths = c.input(2);
    Shape element = TensorListOps.shape(c, 1);
    if (element.hasRank() && element.rank() < 1) {
      throw MillraceException.invalid(
          "TensorListSplit requires element_shape to be at least of rank 1, but saw: %s", element);
    }
    TensorList list = new TensorList(c.node().typeAttr("element_dtype"), element, -1);
    c.output(0, list.tensor());
    if (lengths.shape().rank() != 1) {
      throw MillraceException.invalid(
          "Expected lengths to be a vector, received shape: %s", lengths.shape());
    }
    if (t.shape().rank() < 1) {
      throw MillraceException.invalid(
          "Tensor must be at least a vector, but saw shape: %s", t.shape());
    }
    Shape rest = t.shape().slice(1, t.shape().rank());
    if (element.hasRank()
        && !Shape.of(Shape.UNKNOWN)
            .concat(rest)
            .isCompatibleWith(element.withDim(0, Shape.UNKNOWN))) {
      throw MillraceException.invalid(
          "tensor shape %s is not compatible with element_shape %s", t.shape(), element);
    }
    list.resize(Math.toIntExact(lengths.elements()));
    long begin = 0;
    for (int i = 0; i < lengths.elements(); i++) {
      long n = lengths.longAt(i);
      if (n < 0) {
        throw MillraceException.invalid("Invalid value in lengths: %d", n);
      }
      if (begin + n > t.shape().dim(0)) {
        throw MillraceException.invalid(
            "Attempted to slice [%d, %d] from tensor with length %d",
            begin, begin + n, t.shape().dim(0));
      }
      set(list, i, t, begin, Shape.of(n).concat(rest));
      begin += n;
    }
    if (begin != t.shape().dim(0)) {
      throw MillraceException.invalid(
          "Unused values in tensor. Length of tensor: %d Values used: %d", t.shape().dim(0), begin);
    }
  }

  private static void set(TensorList list, int i, Tensor from, long row, Shape shape) {
    Tensor part = Refs.allocate(from.dtype(), shape);
    try {
      long size = shape.slice(1, shape.rank()).elements();
      StridedCopy.copyRun(from, row * size, part, 0, shape.elements());
      list.set(i, part);
    } finally {
      Refs.release(part);
    }
  }

  private static void concat(KernelContext c) {
    TensorList list = TensorList.at(c, 0, c.node().typeAttr("element_dtype"));
    Tensor leading = c.input(2);
    int n = list.elements.size();
    Shape row = rowOf(list, TensorListOps.shape(c, 1));
    Tensor lengths = c.allocate(1, Shape.of(n));
    long rows = 0;
    for (int i = 0; i < n; i++) {
      Tensor t = list.elements.get(i);
      if (t == null && i >= leading.elements()) {
        throw MillraceException.invalid(
            "List contains uninitialized tensor at index %d but leading_dims has only %d elements.",
            i, leading.elements());
      }
      long size = t == null ? leading.longAt(i) : t.shape().dim(0);
      lengths.setLong(i, size);
      rows = Math.addExact(rows, size);
    }
    Tensor out = c.allocate(0, Shape.of(rows).concat(row));
    long at = 0;
    for (int i = 0; i < n; i++) {
      Shape piece = Shape.of(lengths.longAt(i)).concat(row);
      Tensor t =
          list.elements.get(i) == null
              ? TensorList.zeros(out.dtype(), piece)
              : Refs.retain(list.elements.get(i));
      try {
        StridedCopy.copyRun(t, 0, out, at, piece.elements());
      } finally {
        Refs.release(t);
      }
      at += piece.elements();
    }
  }

  /** The shape of one row by all that is known of the elements, whose first sizes may differ. */
  private static Shape rowOf(TensorList list, Shape given) {
    Shape whole = merged(anyRows(list.elementShape), anyRows(given));
    for (Tensor t : list.elements) {
      if (t != null) {
        if (t.shape().rank() < 1) {
          throw MillraceException.invalid(
              "Concat saw a scalar shape, but requires at least vectors.");
        }
        whole = merged(whole, anyRows(t.shape()));
      }
    }
    if (!whole.hasRank() || !whole.slice(1, whole.rank()).isKnown()) {
      throw MillraceException.invalid(
          "All except the first dimension must be fully defined when concating an empty tensor"
              + " list. element_shape: %s",
          whole.hasRank() ? whole : "<unknown>");
    }
    return whole.slice(1, whole.rank());
  }

  private static Shape anyRows(Shape s) {
    if (s.hasRank() && s.rank() < 1) {
      throw MillraceException.invalid(
          "Concat requires elements to be at least vectors, found scalars instead.");
    }
    return s.hasRank() ? s.withDim(0, Shape.UNKNOWN) : s;
  }

  private static Shape merged(Shape a, Shape b) {
    if (!a.isCompatibleWith(b)) {
      throw MillraceException.invalid("Incompatible shapes during merge: %s vs. %s", a, b);
    }
    return a.mergeWith(b);
  }
}
