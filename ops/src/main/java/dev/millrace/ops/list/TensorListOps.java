package dev.millrace.ops.list;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.value.TensorList;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** The ops on {@link TensorList}s, of which the loops of TensorFlow 2 keep their values. */
final class TensorListOps {
  static final Op EMPTY =
      define("EmptyTensorList", true)
          .input("element_shape: shape_type")
          .input("max_num_elements: int32")
          .output("handle: variant")
          .shape(Shapes.scalar())
          .kernel(
              c ->
                  c.output(0, new TensorList(type(c), shape(c, 0), c.input(1).intValue()).tensor()))
          .noGradient("it depends on no element")
          .build();

  static final Op RESERVE =
      define("TensorListReserve", true)
          .input("element_shape: shape_type")
          .input("num_elements: int32")
          .output("handle: variant")
          .shape(Shapes.scalar())
          .kernel(
              c -> {
                int n = c.input(1).intValue();
                if (n < 0) {
                  throw MillraceException.invalid(
                      "The num_elements to reserve must be a non negative number, but got %d", n);
                }
                TensorList list = new TensorList(type(c), shape(c, 0), -1);
                list.resize(n);
                c.output(0, list.tensor());
              })
          .noGradient("it depends on no element")
          .build();

  static final Op FROM_TENSOR =
      define("TensorListFromTensor", true)
          .input("tensor: element_dtype")
          .input("element_shape: shape_type")
          .output("output_handle: variant")
          .shape(Shapes.scalar())
          .kernel(
              c -> {
                TensorList list = new TensorList(type(c), shape(c, 1), -1);
                c.output(0, list.tensor());
                Tensor t = c.input(0);
                if (t.shape().rank() < 1) {
                  throw MillraceException.invalid(
                      "Tensor must be at least a vector, but saw shape: %s", t.shape());
                }
                list.resize(Math.toIntExact(t.shape().dim(0)));
                for (int i = 0; i < list.elements.size(); i++) {
                  setRow(list, i, t, i);
                }
              })
          .gradient(ListGradients::ofFromTensor)
          .build();

  static final Op PUSH_BACK =
      define("TensorListPushBack", false)
          .input("input_handle: variant")
          .input("tensor: element_dtype")
          .output("output_handle: variant")
          .shape(Shapes.scalar())
          .kernel(
              c -> {
                TensorList list = TensorList.changed(c, 0, 0);
                if (list.most >= 0 && list.elements.size() >= list.most) {
                  throw MillraceException.invalid(
                      "Tried to push item into a full list. list size: %d max_num_elements: %d",
                      list.elements.size(), list.most);
                }
                list.push(c.input(1));
              })
          .gradient(ListGradients::ofPushBack)
          .build();

  static final Op POP_BACK =
      define("TensorListPopBack", false)
          .input("input_handle: variant")
          .input("element_shape: int32")
          .output("output_handle: variant")
          .output("tensor: element_dtype")
          .shape(c -> List.of(Shape.scalar(), known(c, 1)))
          .kernel(
              c -> {
                TensorList.at(c, 0, type(c));
                c.output(1, TensorList.changed(c, 0, 0).pop(shape(c, 1)));
              })
          .gradient(ListGradients::ofPopBack)
          .build();

  static final Op SET_ITEM =
      define("TensorListSetItem", false)
          .attr("resize_if_index_out_of_bounds: bool = false")
          .input("input_handle: variant")
          .input("index: int32")
          .input("item: element_dtype")
          .output("output_handle: variant")
          .shape(Shapes.scalar())
          .kernelPerNode(
              node -> {
                boolean grows = node.booleanAttr("resize_if_index_out_of_bounds");
                return c -> {
                  TensorList list = TensorList.changed(c, 0, 0);
                  int index = c.input(1).intValue();
                  if (grows && index >= list.elements.size()) {
                    list.resize(index + 1);
                  }
                  list.set(index, c.input(2));
                };
              })
          .gradient(ListGradients::ofSetItem)
          .build();

  static final Op GET_ITEM =
      Op.define("TensorListGetItem")
          .attr("element_dtype: type")
          .attr("Tshape: {int32, int64} = int32")
          .input("input_handle: variant")
          .input("index: int32")
          .input("element_shape: Tshape")
          .output("item: element_dtype")
          .shape(c -> List.of(known(c, 2)))
          .kernel(
              c -> {
                TensorList list = TensorList.at(c, 0, type(c));
                c.output(0, list.get(c.input(1).intValue(), shape(c, 2)));
              })
          .gradient(ListGradients::ofGetItem)
          .build();

  static final Op STACK =
      define("TensorListStack", false)
          .attr("num_elements: int = -1")
          .input("input_handle: variant")
          .input("element_shape: int32")
          .output("tensor: element_dtype")
          .shape(
              c -> {
                Shape s = known(c, 1);
                long n = c.node().longAttr("num_elements");
                return List.of(s.hasRank() ? Shape.of(n).concat(s) : Shape.unknown());
              })
          .kernelPerNode(
              node -> {
                long n = node.longAttr("num_elements");
                return c -> {
                  TensorList list = TensorList.at(c, 0, type(c));
                  if (n >= 0 && n != list.elements.size()) {
                    throw MillraceException.invalid(
                        "Operation expected a list with %d elements but got a list with %d"
                            + " elements.",
                        n, list.elements.size());
                  }
                  int[] all = new int[list.elements.size()];
                  java.util.Arrays.setAll(all, i -> i);
                  Shape element = list.commonOf(all, shape(c, 1));
                  if (!element.isKnown()) {
                    throw MillraceException.invalid(
                        "Tried to stack %s non-fully-defined element_shape: %s",
                        all.length == 0
                            ? "elements of an empty list with"
                            : "list which only contains uninitialized tensors and has a",
                        element.hasRank() ? element : "<unknown>");
                  }
                  join(c, list, all, element);
                };
              })
          .gradient(ListGradients::ofStack)
          .build();

  static final Op GATHER =
      define("TensorListGather", false)
          .input("input_handle: variant")
          .input("indices: int32")
          .input("element_shape: int32")
          .output("values: element_dtype")
          .shape(
              c -> {
                Shape s = known(c, 2);
                Shape indices = c.inputOfRank(1, 1);
                return List.of(s.hasRank() ? Shape.of(indices.dim(0)).concat(s) : Shape.unknown());
              })
          .kernel(
              c -> {
                TensorList list = TensorList.at(c, 0, type(c));
                int[] indices = c.input(1).toInts();
                Shape element = list.commonOf(indices, shape(c, 2));
                if (!element.isKnown()) {
                  throw MillraceException.invalid(
                      "Tried to gather %s from a list with non-fully-defined element_shape: %s",
                      indices.length == 0 ? "0-elements" : "uninitialized tensors",
                      element.hasRank() ? element : "<unknown>");
                }
                join(c, list, indices, element);
              })
          .gradient(ListGradients::ofGather)
          .build();

  static final Op SCATTER =
      define("TensorListScatterV2", true)
          .input("tensor: element_dtype")
          .input("indices: int32")
          .input("element_shape: shape_type")
          .input("num_elements: int32")
          .output("output_handle: variant")
          .shape(Shapes.scalar())
          .kernel(
              c -> {
                int n = c.input(3).intValue();
                if (n < -1) {
                  throw MillraceException.invalid(
                      "TensorListScatter expects num_elements >= -1, found: %d", n);
                }
                TensorList list = new TensorList(type(c), shape(c, 2), -1);
                c.output(0, list.tensor());
                list.resize(Math.max(n, 0));
                scatter(list, c.input(0), c.input(1), n < 0);
              })
          .gradient(ListGradients::ofScatter)
          .build();

  static final Op SCATTER_INTO =
      define("TensorListScatterIntoExistingList", false)
          .input("input_handle: variant")
          .input("tensor: element_dtype")
          .input("indices: int32")
          .output("output_handle: variant")
          .shape(Shapes.scalar())
          .kernel(c -> scatter(TensorList.changed(c, 0, 0), c.input(1), c.input(2), true))
          .gradient(ListGradients::ofScatterInto)
          .build();

  static final Op RESIZE =
      Op.define("TensorListResize")
          .input("input_handle: variant")
          .input("size: int32")
          .output("output_handle: variant")
          .shape(Shapes.scalar())
          .kernel(
              c -> {
                int size = c.input(1).intValue();
                if (size < 0) {
                  throw MillraceException.invalid(
                      "TensorListSlice expects size to be non-negative. Got: %d", size);
                }
                TensorList.changed(c, 0, 0).resize(size);
              })
          .gradient(ListGradients::ofResize)
          .build();

  static final Op LENGTH =
      Op.define("TensorListLength")
          .input("input_handle: variant")
          .output("length: int32")
          .shape(Shapes.scalar())
          .kernel(
              c -> c.allocate(0, Shape.scalar()).setLong(0, TensorList.at(c, 0).elements.size()))
          .noGradient("it is a number of elements")
          .build();

  static final Op ELEMENT_SHAPE =
      Op.define("TensorListElementShape")
          .attr("shape_type: {int32, int64}")
          .input("input_handle: variant")
          .output("element_shape: shape_type")
          .shape(Shapes.unknown())
          .kernel(
              c -> {
                Shape s = TensorList.at(c, 0).elementShape;
                Tensor out = c.allocate(0, s.hasRank() ? Shape.of(s.rank()) : Shape.scalar());
                for (int i = 0; i < out.elements(); i++) {
                  out.setLong(i, s.hasRank() ? s.dim(i) : -1);
                }
              })
          .noGradient("it is a shape")
          .build();

  static final List<Op> ALL =
      List.of(
          EMPTY,
          RESERVE,
          FROM_TENSOR,
          PUSH_BACK,
          POP_BACK,
          SET_ITEM,
          GET_ITEM,
          STACK,
          GATHER,
          SCATTER,
          SCATTER_INTO,
          RESIZE,
          LENGTH,
          ELEMENT_SHAPE);

  private TensorListOps() {}

  private static Op.Builder define(String name, boolean hasShapeType) {
    Op.Builder b = Op.define(name).attr("element_dtype: type");
    return hasShapeType ? b.attr("shape_type: {int32, int64}") : b;
  }

  private static DType type(KernelContext c) {
    return c.node().typeAttr("element_dtype");
  }

  /** The shape that input {@code i} describes; a scalar -1 stands for any. */
  static Shape shape(KernelContext c, int i) {
    Tensor t = c.input(i);
    if (t.shape().rank() == 1) {
      return Shape.of(t.toLongs());
    }
    if (t.shape().isScalar() && t.longValue() == -1) {
      return Shape.unknown();
    }
    throw MillraceException.invalid(
        "element_shape must be a vector of dimensions, or -1 for any; it is %s.", t);
  }

  private static Shape known(ShapeContext c, int i) {
    return c.constantAsShape(i);
  }

  private static void setRow(TensorList list, int index, Tensor from, long row) {
    Shape rest = from.shape().slice(1, from.shape().rank());
    Tensor part = Refs.allocate(from.dtype(), rest);
    try {
      StridedCopy.copyRun(from, row * rest.elements(), part, 0, rest.elements());
      list.set(index, part);
    } finally {
      Refs.release(part);
    }
  }

  private static void scatter(TensorList list, Tensor values, Tensor indices, boolean grows) {
    if (indices.shape().rank() != 1 || values.shape().rank() < 1) {
      throw MillraceException.invalid(
          "Expected a vector of indices and a tensor that is at least a vector, but saw: %s and %s",
          indices.shape(), values.shape());
    }
    if (values.shape().dim(0) != indices.elements()) {
      throw MillraceException.invalid(
          "Invalid number of rows in input tensor. Expected: %d Actual: %d",
          indices.elements(), values.shape().dim(0));
    }
    for (int i = 0; i < indices.elements(); i++) {
      int at = (int) indices.longAt(i);
      if (at < 0) {
        throw MillraceException.invalid("Indices in TensorListScatter must all be non-negative.");
      }
      if (!grows && at >= list.elements.size()) {
        throw MillraceException.invalid(
            "TensorListScatter: Trying to scatter at index %d in list with size %d",
            at, list.elements.size());
      }
      if (grows && at >= list.elements.size()) {
        list.resize(at + 1);
      }
      setRow(list, at, values, i);
    }
  }

  private static void join(KernelContext c, TensorList list, int[] indices, Shape element) {
    Tensor out = c.allocate(0, Shape.of(indices.length).concat(element));
    long length = element.elements();
    for (int i = 0; i < indices.length; i++) {
      Tensor t = list.get(indices[i], element);
      try {
        StridedCopy.copyRun(t, 0, out, i * length, length);
      } finally {
        Refs.release(t);
      }
    }
  }
}
