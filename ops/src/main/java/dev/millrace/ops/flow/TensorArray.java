package dev.millrace.ops.flow;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.resource.Resources;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.Elementwise;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * An array of tensors that lives as long as a step; a loop reads or writes an element in each of
 * its rounds. An element is written once; in an array of gradients several writes add up, and
 * elements not written are zero.
 *
 * <p>Threading: any thread.
 */
final class TensorArray implements Resources.Resource {
  /** What an array is made with. */
  record Kind(
      DType type,
      Shape elementShape,
      boolean isDynamic,
      boolean clearsAfterRead,
      boolean sameShapes,
      boolean isGradient) {}

  private static final class Element {
    Tensor value;

    /** What an element of the array this is the gradient of has; null if not known. */
    Shape shape;

    boolean wasRead;
    boolean wasCleared;
  }

  private final String name;
  private final Kind kind;
  private final List<Element> elements = new ArrayList<>();
  private Shape elementShape;
  private boolean isDynamic;

  /** How many elements a split has written; -1 if there was none. */
  private int split = -1;

  TensorArray(String name, Kind kind, int size) {
    this.name = name;
    this.kind = kind;
    this.elementShape = kind.elementShape;
    this.isDynamic = kind.isDynamic;
    growTo(size);
  }

  /** An array for the gradients of this one's elements; this one's size is final from now on. */
  synchronized TensorArray gradients(String name) {
    if (kind.isGradient) {
      throw MillraceException.invalid(
          "TensorArray %s: gradients of gradients are not supported.", this.name);
    }
    isDynamic = false;
    TensorArray g =
        new TensorArray(
            name,
            new Kind(kind.type, elementShape, false, kind.clearsAfterRead, kind.sameShapes, true),
            elements.size());
    for (int i = 0; i < elements.size(); i++) {
      g.elements.get(i).shape = elements.get(i).shape;
    }
    g.split = split;
    return g;
  }

  @Override
  public String kind() {
    return "TensorArray";
  }

  synchronized int size() {
    return elements.size();
  }

  /** Notes that a tensor was split into this many elements; there may be others beside them. */
  synchronized void splitInto(int n) {
    split = kind.isGradient ? split : n;
  }

  /**
   * How many elements make up the whole: of gradients only those that belong to the tensor that was
   * split.
   */
  synchronized int concatSize() {
    return kind.isGradient && split >= 0 ? split : elements.size();
  }

  synchronized boolean isDynamic() {
    return isDynamic;
  }

  DType type() {
    return kind.type;
  }

  private void growTo(int size) {
    while (elements.size() < size) {
      elements.add(new Element());
    }
  }

  /** Keeps a value, with a counted reference of its own. */
  synchronized void write(int index, Tensor value) {
    if (index < 0 || (!isDynamic && index >= elements.size())) {
      throw refusal(
          "Tried to write to index %d but array is not resizeable and size is: %d",
          index, elements.size());
    }
    if (value.dtype() != kind.type) {
      throw refusal(
          "Could not write to TensorArray index %d because the value dtype is %s but TensorArray"
              + " dtype is %s.",
          index, value.dtype(), kind.type);
    }
    if (!elementShape.isCompatibleWith(value.shape())) {
      throw refusal(
          "Could not write to TensorArray index %d because the value shape is %s which is"
              + " incompatible with the TensorArray's element shape: %s.",
          index, value.shape(), elementShape);
    }
    growTo(index + 1);
    Element e = elements.get(index);
    if (e.wasRead) {
      throw refusal(
          "Could not write to TensorArray index %d because it has already been read.", index);
    }
    if (e.value != null && !kind.isGradient) {
      throw refusal(
          "Could not write to TensorArray index %d because it has already been written to.", index);
    }
    if (kind.sameShapes && !kind.isGradient) {
      elementShape = elementShape.mergeWith(value.shape());
    }
    e.shape = value.shape();
    if (e.value == null) {
      e.value = Refs.retain(value);
    } else {
      addTo(e, index, value);
    }
  }

  private void addTo(Element e, int index, Tensor value) {
    if (!e.value.shape().equals(value.shape())) {
      throw refusal(
          "Could not aggregate to TensorArray index %d because the existing shape is %s but the new"
              + " input shape is %s.",
          index, e.value.shape(), value.shape());
    }
    Tensor sum = Refs.allocate(kind.type, value.shape());
    Elementwise.addN(new Tensor[] {e.value, value}, sum);
    Refs.release(e.value);
    e.value = sum;
  }

  /** An element, with a counted reference that is the caller's. */
  synchronized Tensor read(int index) {
    if (index < 0 || index >= elements.size()) {
      throw refusal("Tried to read from index %d but array size is: %d", index, elements.size());
    }
    Element e = elements.get(index);
    if (e.wasCleared) {
      throw refusal(
          "Could not read index %d twice because it was cleared after a previous read (perhaps try"
              + " setting clear_after_read = false?).",
          index);
    }
    e.wasRead = true;
    if (e.value == null) {
      return zeros(index, e);
    }
    if (kind.clearsAfterRead) {
      Tensor value = e.value;
      e.value = null;
      e.wasCleared = true;
      return value;
    }
    return Refs.retain(e.value);
  }

  private Tensor zeros(int index, Element e) {
    Shape shape = e.shape != null ? e.shape : elementShape;
    if (!shape.isKnown()) {
      throw refusal(
          "Could not read from TensorArray index %d.  Furthermore, the element shape is not fully"
              + " defined: %s.  It is possible you are working with a resizeable TensorArray and"
              + " stop_gradients is not allowing the gradients to be written.  If you set the full"
              + " element_shape property on the forward TensorArray, the proper all-zeros tensor"
              + " will be returned instead of incurring this error.",
          index, elementShape);
    }
    Tensor zero = Refs.allocate(kind.type, shape);
    if (kind.type.isPlain()) {
      zero.data().fill((byte) 0);
    } else {
      Arrays.fill(zero.objects(), new byte[0]);
    }
    return zero;
  }

  private MillraceException refusal(String message, Object... arguments) {
    return MillraceException.invalid("TensorArray %s: %s", name, message.formatted(arguments));
  }

  @Override
  public synchronized void close() {
    for (Element e : elements) {
      if (e.value != null) {
        Refs.release(e.value);
        e.value = null;
      }
    }
    elements.clear();
  }
}
