package dev.millrace.ops.dataset;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VariantValue;
import java.util.ArrayList;
import java.util.List;

/**
 * A sequence of elements, each a tuple of tensors, that can be walked through any number of times:
 * itself the element of a variant tensor, a value like any other. It holds the tensors it was made
 * from until the last reference to that tensor is released.
 */
abstract class DatasetValue extends VariantValue {
  /** The {@link #cardinality} of one without an end. */
  static final long INFINITE = -1;

  /** The {@link #cardinality} of one that has to be walked through to know. */
  static final long UNKNOWN = -2;

  private final List<DType> types;
  private final List<Shape> shapes;
  private final List<Tensor> held = new ArrayList<>();

  DatasetValue(List<DType> types, List<Shape> shapes) {
    this.types = types;
    this.shapes = shapes;
  }

  /** Begins at the first element. */
  abstract DatasetElements elements(Iteration iteration);

  /** How many elements there are, {@link #INFINITE} or {@link #UNKNOWN}. */
  abstract long cardinality();

  /** The types of an element's components. */
  final List<DType> types() {
    return types;
  }

  /** The shapes of an element's components, as far as they are known. */
  final List<Shape> shapes() {
    return shapes;
  }

  /** Keeps a tensor for as long as this lives. */
  final Tensor hold(Tensor t) {
    held.add(Refs.retain(t));
    return t;
  }

  /** The dataset that input {@code i} holds, kept for as long as this lives. */
  final DatasetValue holdInput(KernelContext c, int i) {
    DatasetValue input = at(c, i);
    hold(c.input(i));
    return input;
  }

  /** A tensor that holds this, with one counted reference. */
  final Tensor tensor() {
    return VariantValue.tensor(this);
  }

  @Override
  public final String typeName() {
    return "tensorflow::DatasetVariantWrapper";
  }

  @Override
  public final byte[] metadata() {
    throw new MillraceException(
        Code.UNIMPLEMENTED,
        "A dataset cannot be sent to another task: its files and functions are here. Place the"
            + " iterator on the task of its dataset.");
  }

  @Override
  public final List<Tensor> tensors() {
    return List.copyOf(held);
  }

  @Override
  protected final void free() {
    held.forEach(Refs::release);
    held.clear();
  }

  /** The dataset in a variant tensor. */
  static DatasetValue of(Tensor t) {
    if (t.dtype() == DType.VARIANT
        && t.elements() == 1
        && t.objects()[0] instanceof DatasetValue dataset) {
      return dataset;
    }
    throw MillraceException.invalid("Tensor must be a Dataset object; it is %s.", t);
  }

  /** The dataset that input {@code i} holds. */
  static DatasetValue at(KernelContext c, int i) {
    return of(c.input(i));
  }

  // ---- defining ops ----

  /** Makes the dataset that one execution of a node gives. */
  @FunctionalInterface
  interface Maker {
    DatasetValue make(KernelContext c);
  }

  /** An op whose elements have the types and shapes that attributes say. */
  static Op.Builder define(String name) {
    return Op.define(name)
        .attr("output_types: list(type) >= 1")
        .attr("output_shapes: list(shape) >= 1")
        .attr("metadata: string = ''");
  }

  /** Completes the definition of an op that gives a dataset. */
  static Op giving(Op.Builder op, Maker maker) {
    return op.output("handle: variant")
        .shape(Shapes.scalar())
        .kernel(c -> c.output(0, maker.make(c).tensor()))
        .noGradient("what is read from files or from memory depends on nothing that is trained")
        .build();
  }

  static List<DType> typesOf(Node node) {
    return node.typesAttr("output_types");
  }

  static List<Shape> shapesOf(Node node) {
    return node.shapesAttr("output_shapes");
  }

  /** The number in the scalar input {@code i}. */
  static long number(KernelContext c, int i) {
    return scalar(c, i).longAt(0);
  }

  /** Whether the scalar input {@code i} is true. */
  static boolean isTrue(KernelContext c, int i) {
    return scalar(c, i).booleanAt(0);
  }

  /** The text in the scalar input {@code i}. */
  static String text(KernelContext c, int i) {
    return scalar(c, i).stringAt(0);
  }

  private static Tensor scalar(KernelContext c, int i) {
    Tensor t = c.input(i);
    if (!t.shape().isScalar()) {
      throw MillraceException.invalid(
          "%s must be a scalar; it has shape %s", argument(c, i), t.shape());
    }
    return t;
  }

  /** The name of the argument that input {@code i} belongs to. */
  private static String argument(KernelContext c, int i) {
    int from = 0;
    for (Op.Arg a : c.node().op().inputs()) {
      from += a.count(c.node().attrs());
      if (i < from) {
        return a.name();
      }
    }
    return "input " + i;
  }
}
