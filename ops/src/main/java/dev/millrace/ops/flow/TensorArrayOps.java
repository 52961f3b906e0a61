package dev.millrace.ops.flow;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The ops on {@link TensorArray}s. The float that goes through them, the flow, has no meaning but
 * the order it makes: what reads waits for what has written.
 */
final class TensorArrayOps {
  private static final AtomicLong COUNT = new AtomicLong();

  static final Op ARRAY =
      Op.define("TensorArrayV3")
          .attr("dtype: type")
          .attr("element_shape: shape = ?")
          .attr("dynamic_size: bool = false")
          .attr("clear_after_read: bool = true")
          .attr("identical_element_shapes: bool = false")
          .attr("tensor_array_name: string = ''")
          .input("size: int32")
          .output("handle: resource")
          .output("flow: float")
          .stateful()
          .shape(
              c -> {
                c.inputOfRank(0, 0);
                return List.of(Shape.unknown(), Shape.scalar());
              })
          .kernelPerNode(TensorArrayOps::make)
          .noGradient("it is a place, not a number")
          .build();

  static final Op GRAD =
      Op.define("TensorArrayGradV3")
          .attr("source: string")
          .input("handle: resource")
          .input("flow_in: float")
          .output("grad_handle: resource")
          .output("flow_out: float")
          .stateful()
          .shape(c -> List.of(Shape.unknown(), Shape.scalar()))
          .kernelPerNode(TensorArrayOps::makeGradient)
          .noGradient("it is a part of gradients itself")
          .build();

  static final Op WRITE =
      writing("TensorArrayWriteV3", "index: int32", "value: T")
          .shape(
              c -> {
                c.inputOfRank(1, 0);
                elementShape(c.node().input(0)).mergeWith(c.input(2));
                return List.of(Shape.scalar());
              })
          .kernel(
              c -> {
                array(c).write(scalar(c, 1), c.input(2));
                c.forward(0, 3);
              })
          .gradient(TensorArrayGradients::ofWrite)
          .build();

  static final Op SCATTER =
      writing("TensorArrayScatterV3", "indices: int32", "value: T")
          .shape(
              c -> {
                Shape value = c.input(2);
                if (value.rank() > 0) {
                  value.slice(0, 1).mergeWith(c.inputOfRank(1, 1));
                }
                return List.of(Shape.scalar());
              })
          .kernel(TensorArrayOps::scatter)
          .gradient(TensorArrayGradients::ofScatter)
          .build();

  static final Op SPLIT =
      writing("TensorArraySplitV3", "value: T", "lengths: int64")
          .kernel(TensorArrayOps::split)
          .gradient(TensorArrayGradients::ofSplit)
          .build();

  static final Op READ =
      Op.define("TensorArrayReadV3")
          .attr("dtype: type")
          .input("handle: resource")
          .input("index: int32")
          .input("flow_in: float")
          .output("value: dtype")
          .stateful()
          .shape(c -> List.of(elementShape(c.node().input(0))))
          .kernel(
              c -> {
                TensorArray array = typed(c);
                c.output(0, array.read(scalar(c, 1)));
              })
          .gradient(TensorArrayGradients::ofRead)
          .build();

  static final Op GATHER =
      Op.define("TensorArrayGatherV3")
          .attr("dtype: type")
          .attr("element_shape: shape = ?")
          .input("handle: resource")
          .input("indices: int32")
          .input("flow_in: float")
          .output("value: dtype")
          .stateful()
          .shape(TensorArrayOps::gathered)
          .kernel(TensorArrayOps::gather)
          .gradient(TensorArrayGradients::ofGather)
          .build();

  static final Op CONCAT =
      Op.define("TensorArrayConcatV3")
          .attr("dtype: type")
          .attr("element_shape_except0: shape = ?")
          .input("handle: resource")
          .input("flow_in: float")
          .output("value: dtype")
          .output("lengths: int64")
          .stateful()
          .shape(
              c -> {
                Shape rest = c.node().shapeAttr("element_shape_except0");
                Shape value =
                    rest.hasRank() ? Shape.of(Shape.UNKNOWN).concat(rest) : Shape.unknown();
                return List.of(value, Shape.of(Shape.UNKNOWN));
              })
          .kernel(TensorArrayOps::concat)
          .gradient(TensorArrayGradients::ofConcat)
          .build();

  static final Op SIZE =
      Op.define("TensorArraySizeV3")
          .input("handle: resource")
          .input("flow_in: float")
          .output("size: int32")
          .stateful()
          .shape(Shapes.scalar())
          .kernel(c -> c.allocate(0, Shape.scalar()).setLong(0, array(c).size()))
          .noGradient("it is a number of elements")
          .build();

  static final Op CLOSE =
      Op.define("TensorArrayCloseV3")
          .input("handle: resource")
          .stateful()
          .shape(Shapes.none())
          .kernel(
              c -> {
                array(c);
                Resources.Handle h = ResourceHandles.at(c, 0);
                c.resources().remove(h.container(), h.name());
              })
          .noGradient("it has no result")
          .build();

  static final List<Op> ALL =
      List.of(ARRAY, GRAD, WRITE, SCATTER, SPLIT, READ, GATHER, CONCAT, SIZE, CLOSE);

  private TensorArrayOps() {}

  private static Op.Builder writing(String name, String second, String third) {
    return Op.define(name)
        .attr("T: type")
        .input("handle: resource")
        .input(second)
        .input(third)
        .input("flow_in: float")
        .output("flow_out: float")
        .stateful()
        .shape(Shapes.scalar());
  }

  // ---- making arrays ----

  private static Kernel make(Node node) {
    String given = node.stringAttr("tensor_array_name");
    String prefix = given.isEmpty() ? node.name() : given;
    TensorArray.Kind kind =
        new TensorArray.Kind(
            node.typeAttr("dtype"),
            node.shapeAttr("element_shape"),
            node.booleanAttr("dynamic_size"),
            node.booleanAttr("clear_after_read"),
            node.booleanAttr("identical_element_shapes"),
            false);
    return c -> {
      int size = scalar(c, 0);
      if (size < 0) {
        throw MillraceException.invalid("Size should be >= 0, but it is %d", size);
      }
      String name = prefix + "_" + COUNT.getAndIncrement();
      hold(c, name, () -> new TensorArray(name, kind, size));
      c.allocate(1, Shape.scalar()).setDouble(0, 0);
    };
  }

  private static Kernel makeGradient(Node node) {
    String source = node.stringAttr("source");
    return c -> {
      TensorArray array = array(c);
      String name = ResourceHandles.at(c, 0).name() + "@" + source;
      hold(c, name, () -> array.gradients(name));
      c.forward(1, 1);
    };
  }

  /** Gives the handle of the array with this name, made now if there is none in this step. */
  private static void hold(KernelContext c, String name, Supplier<TensorArray> maker) {
    String container = Resources.containerOfStep(c.stepId());
    Resources resources = c.resources();
    resources.getOrCreate(container, name, TensorArray.class, maker);
    c.afterRun(() -> resources.remove(container, name));
    Resources.Handle handle =
        new Resources.Handle(c.node().device(), container, name, "TensorArray");
    c.output(0, Refs.ofObjects(DType.RESOURCE, Shape.scalar(), new Object[] {handle}));
  }

  private static TensorArray array(KernelContext c) {
    return ResourceHandles.resource(c, 0, TensorArray.class);
  }

  /** The array, which must hold what output 0 is declared to be. */
  private static TensorArray typed(KernelContext c) {
    TensorArray array = array(c);
    DType wanted = c.node().output(0).dtype();
    if (array.type() != wanted) {
      throw MillraceException.invalid(
          "TensorArray dtype is %s but Op requested dtype %s.", array.type(), wanted);
    }
    return array;
  }

  private static int scalar(KernelContext c, int input) {
    Tensor t = c.input(input);
    if (!t.shape().isScalar()) {
      throw MillraceException.invalid(
          "Input %d must be scalar, but it has shape: %s", input, t.shape());
    }
    return t.intValue();
  }

  // ---- many elements at once ----

  private static void scatter(KernelContext c) {
    Tensor indices = c.input(1);
    Tensor value = c.input(2);
    if (indices.shape().rank() != 1) {
      throw MillraceException.invalid(
          "Expected indices to be a vector, but received shape: %s", indices.shape());
    }
    if (value.shape().rank() < 1 || value.shape().dim(0) != indices.elements()) {
      throw MillraceException.invalid(
          "Expected len(indices) == values.shape[0], but saw: %d vs. %s",
          indices.elements(), value.shape());
    }
    Shape rest = value.shape().slice(1, value.shape().rank());
    TensorArray array = array(c);
    for (int i = 0; i < indices.elements(); i++) {
      int at = (int) indices.longAt(i);
      part(value, i * rest.elements(), rest, t -> array.write(at, t));
    }
    c.forward(0, 3);
  }

  private static void split(KernelContext c) {
    Tensor value = c.input(1);
    Tensor lengths = c.input(2);
    TensorArray array = array(c);
    if (lengths.shape().rank() != 1) {
      throw MillraceException.invalid(
          "Expected lengths to be a vector, received shape: %s", lengths.shape());
    }
    if (value.shape().rank() < 1) {
      throw MillraceException.invalid(
          "Expected value to be at least a vector, but received shape: %s", value.shape());
    }
    long sum = 0;
    for (int i = 0; i < lengths.elements(); i++) {
      sum += lengths.longAt(i);
    }
    if (sum != value.shape().dim(0)) {
      throw MillraceException.invalid(
          "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is %d and"
              + " value's shape is: %s",
          sum, value.shape());
    }
    if (array.size() != lengths.elements()
        && !(array.isDynamic() && array.size() < lengths.elements())) {
      throw MillraceException.invalid(
          "TensorArray's size is not equal to the size of lengths (%d vs. %d), and the TensorArray"
              + " is not marked as dynamically resizeable.",
          array.size(), lengths.elements());
    }
    long row = value.shape().slice(1, value.shape().rank()).elements();
    long start = 0;
    for (int i = 0; i < lengths.elements(); i++) {
      int at = i;
      Shape part = value.shape().withDim(0, lengths.longAt(i));
      part(value, start * row, part, t -> array.write(at, t));
      start += lengths.longAt(i);
    }
    array.splitInto((int) lengths.elements());
    c.forward(0, 3);
  }

  /** A copy of a part of a tensor, for as long as {@code taker} takes. */
  private static void part(Tensor from, long start, Shape shape, Consumer<Tensor> taker) {
    Tensor part = Refs.allocate(from.dtype(), shape);
    try {
      StridedCopy.copyRun(from, start, part, 0, shape.elements());
      taker.accept(part);
    } finally {
      Refs.release(part);
    }
  }

  private static void gather(KernelContext c) {
    TensorArray array = typed(c);
    Tensor indices = c.input(1);
    if (indices.shape().rank() != 1) {
      throw MillraceException.invalid(
          "Expected indices to be a vector, but received shape: %s", indices.shape());
    }
    int n = (int) indices.elements();
    Tensor[] parts = new Tensor[n];
    try {
      for (int i = 0; i < n; i++) {
        parts[i] = array.read((int) indices.longAt(i));
      }
      Shape element = n > 0 ? parts[0].shape() : whole(c, "element_shape");
      for (int i = 1; i < n; i++) {
        if (!parts[i].shape().equals(element)) {
          throw MillraceException.invalid(
              "TensorArray has inconsistent shapes.  Index 0 has shape: %s but index %d has shape:"
                  + " %s",
              element, i, parts[i].shape());
        }
      }
      join(c, parts, Shape.of(n).concat(element));
    } finally {
      release(parts);
    }
  }

  private static void concat(KernelContext c) {
    TensorArray array = typed(c);
    int n = array.concatSize();
    Tensor[] parts = new Tensor[n];
    try {
      Tensor lengths = c.allocate(1, Shape.of(n));
      Shape rest = n > 0 ? null : whole(c, "element_shape_except0");
      long sum = 0;
      for (int i = 0; i < n; i++) {
        parts[i] = array.read(i);
        Shape s = parts[i].shape();
        if (s.rank() < 1) {
          throw MillraceException.invalid(
              "Concat saw a scalar shape at index %d but requires at least vectors.  Did you mean"
                  + " to call pack?",
              i);
        }
        Shape tail = s.slice(1, s.rank());
        if (rest != null && !rest.equals(tail)) {
          throw MillraceException.invalid(
              "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: %s"
                  + " but index %d has (excepting dimension 0) shape: %s",
              rest, i, tail);
        }
        rest = tail;
        lengths.setLong(i, s.dim(0));
        sum += s.dim(0);
      }
      join(c, parts, Shape.of(sum).concat(rest));
    } finally {
      release(parts);
    }
  }

  /** The shape to give to no elements at all. */
  private static Shape whole(KernelContext c, String attr) {
    Shape s = c.node().shapeAttr(attr);
    if (!s.isKnown()) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "TensorArray has size zero, but element shape %s is not fully defined. Currently only"
                  .formatted(s)
              + " static shapes are supported when packing zero-size TensorArrays.");
    }
    return s;
  }

  private static void join(KernelContext c, Tensor[] parts, Shape shape) {
    Tensor out = c.allocate(0, shape);
    long at = 0;
    for (Tensor p : parts) {
      StridedCopy.copyRun(p, 0, out, at, p.elements());
      at += p.elements();
    }
  }

  private static void release(Tensor[] parts) {
    for (Tensor p : parts) {
      if (p != null) {
        Refs.release(p);
      }
    }
  }

  // ---- shapes ----

  private static List<Shape> gathered(ShapeContext c) {
    Shape element = c.node().shapeAttr("element_shape");
    if (!element.isKnown()) {
      Shape declared = elementShape(c.node().input(0));
      element = element.isCompatibleWith(declared) ? element.mergeWith(declared) : element;
    }
    Shape indices = c.inputOfRank(1, 1);
    return List.of(element.hasRank() ? Shape.of(indices.dim(0)).concat(element) : Shape.unknown());
  }

  /** What the op that has made an array says of its elements, if the way back to it is plain. */
  private static Shape elementShape(Output handle) {
    for (Output h = handle; h != null; h = h.node().input(0)) {
      Node n = h.node();
      if (n.op() == ARRAY) {
        return n.shapeAttr("element_shape");
      }
      boolean plain =
          n.op() == GRAD || n.op().name().equals("Identity") || n.op().role() == Op.Role.ENTER;
      if (!plain) {
        return Shape.unknown();
      }
    }
    return Shape.unknown();
  }
}
