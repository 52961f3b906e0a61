package dev.millrace.ops.list;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.op.KernelContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Elementwise;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A list of tensors that is itself the element of a variant tensor, a value like any other. An op
 * that changes a list gives a new one, but changes it in place where it is the last to read it. An
 * element that is null was never set; it reads as zeros.
 */
public final class TensorList {
  final DType type;
  final Shape elementShape;

  /** How many elements there may be; negative if any number. */
  final int most;

  final List<Tensor> elements = new ArrayList<>();

  TensorList(DType type, Shape elementShape, int most) {
    this.type = type;
    this.elementShape = elementShape;
    this.most = most;
  }

  /** A tensor that holds this list, with one counted reference. */
  Tensor tensor() {
    return Tensor.ofObjects(DType.VARIANT, Shape.scalar(), new Object[] {this}, this::release);
  }

  private void release() {
    elements.forEach(TensorList::release);
    elements.clear();
  }

  private static void release(Tensor t) {
    if (t != null) {
      t.release();
    }
  }

  /** The list that input {@code i} holds. */
  static TensorList at(KernelContext c, int i) {
    Tensor t = c.input(i);
    if (t.elements() == 1 && t.objects()[0] instanceof TensorList list) {
      return list;
    }
    throw MillraceException.invalid(
        "Input handle is not a list. Saw: '%s' of shape %s", t.dtype(), t.shape());
  }

  /** The same, for elements of this type. */
  static TensorList at(KernelContext c, int i, DType wanted) {
    TensorList list = at(c, i);
    if (list.type != wanted) {
      throw MillraceException.invalid(
          "Invalid data types; op elements %s but list elements %s", wanted, list.type);
    }
    return list;
  }

  /** A list with the elements of input {@code i}, set as output {@code o}, to be changed. */
  static TensorList changed(KernelContext c, int i, int o) {
    TensorList list = at(c, i);
    if (c.reusable(i) != null) {
      c.forward(o, i);
      return list;
    }
    TensorList copy = list.like();
    for (Tensor t : list.elements) {
      copy.elements.add(t == null ? null : t.retain());
    }
    c.output(o, copy.tensor());
    return copy;
  }

  /** Sets output 0 to a list like that of input 0, with zeros for elements. */
  public static void zerosLike(KernelContext c) {
    TensorList list = at(c, 0);
    TensorList zeros = list.like();
    c.output(0, zeros.tensor());
    for (Tensor t : list.elements) {
      zeros.elements.add(t == null ? null : list.zeros(t.shape()));
    }
  }

  /** Sets output 0 to the sum, element by element, of the lists of all inputs. */
  public static void sum(KernelContext c) {
    TensorList first = at(c, 0);
    TensorList sum = first.like();
    c.output(0, sum.tensor());
    for (int i = 0; i < first.elements.size(); i++) {
      List<Tensor> parts = new ArrayList<>();
      for (int k = 0; k < c.inputCount(); k++) {
        TensorList list = at(c, k, first.type);
        if (list.elements.size() != first.elements.size()) {
          throw MillraceException.invalid(
              "Trying to add two lists of tensors with different lengths: %d and %d",
              first.elements.size(), list.elements.size());
        }
        if (list.elements.get(i) != null) {
          parts.add(list.elements.get(i));
        }
      }
      sum.elements.add(total(parts));
    }
  }

  private static Tensor total(List<Tensor> parts) {
    if (parts.size() < 2) {
      return parts.isEmpty() ? null : parts.getFirst().retain();
    }
    Tensor first = parts.getFirst();
    for (Tensor p : parts) {
      if (!p.shape().equals(first.shape())) {
        throw MillraceException.invalid(
            "Trying to add two tensors with incompatible element shapes. One is %s and the other is"
                + " %s",
            first.shape(), p.shape());
      }
    }
    Tensor out = Tensor.allocateCounted(first.dtype(), first.shape());
    Elementwise.addN(parts.toArray(new Tensor[0]), out);
    return out;
  }

  /** An empty list of the same kind. */
  TensorList like() {
    return new TensorList(type, elementShape, most);
  }

  /** Puts a value at the end, with a counted reference of its own. */
  void push(Tensor value) {
    check(value);
    elements.add(value.retain());
  }

  /** Puts a value in the place of another, with a counted reference of its own. */
  void set(int index, Tensor value) {
    check(value);
    checkIndex(index, "modify");
    release(elements.set(index, value.retain()));
  }

  private void check(Tensor value) {
    if (value.dtype() != type) {
      throw MillraceException.invalid(
          "Invalid data types; list elements %s but tried to append %s", type, value.dtype());
    }
    if (!elementShape.isCompatibleWith(value.shape())) {
      throw MillraceException.invalid(
          "Tried to append a tensor with incompatible shape to a list. Op element shape: %s list"
              + " shape: %s",
          value.shape(), elementShape);
    }
  }

  private void checkIndex(int index, String what) {
    if (index < 0 || index >= elements.size()) {
      throw MillraceException.invalid(
          "Trying to %s element %d in a list with %d elements.", what, index, elements.size());
    }
  }

  /** The last element, taken out, with a counted reference that is the caller's. */
  Tensor pop(Shape known) {
    if (elements.isEmpty()) {
      throw MillraceException.invalid("Trying to pop from an empty list.");
    }
    Tensor last = elements.getLast();
    Tensor value = last != null ? last : zeros(common(known));
    elements.removeLast();
    return value;
  }

  /** An element, with a counted reference that is the caller's. */
  Tensor get(int index, Shape known) {
    checkIndex(index, "access");
    Tensor t = elements.get(index);
    return t == null ? zeros(common(known)) : t.retain();
  }

  void resize(int size) {
    while (elements.size() > size) {
      release(elements.removeLast());
    }
    while (elements.size() < size) {
      elements.add(null);
    }
  }

  /** The shape that elements have by all that is known of them. */
  Shape common(Shape known) {
    if (!elementShape.isCompatibleWith(known)) {
      throw MillraceException.invalid(
          "Tried to read from a list with elements of shape %s as if they had shape %s.",
          elementShape, known);
    }
    Shape s = elementShape.mergeWith(known);
    for (Tensor t : elements) {
      if (s.isKnown()) {
        break;
      }
      if (t != null && s.isCompatibleWith(t.shape())) {
        s = s.mergeWith(t.shape());
      }
    }
    return s;
  }

  private Tensor zeros(Shape shape) {
    if (!shape.isKnown()) {
      throw MillraceException.invalid(
          "Trying to read an uninitialized element but element_shape is not fully defined: %s",
          shape);
    }
    Tensor zero = Tensor.allocateCounted(type, shape);
    if (type.isPlain()) {
      zero.data().fill((byte) 0);
    } else {
      Arrays.fill(zero.objects(), new byte[0]);
    }
    return zero;
  }
}
