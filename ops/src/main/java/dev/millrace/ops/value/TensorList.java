package dev.millrace.ops.value;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VariantValue;
import dev.millrace.tensor.math.elementwise.Elementwise;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * A list of tensors that is itself the element of a variant tensor, a value like any other. An op
 * that changes a list gives a new one, but changes it in place where it is the last to read it. An
 * element that is null was never set; it reads as zeros.
 */
public final class TensorList extends VariantValue {
  private static final String TYPE_NAME = "tensorflow::TensorList";

  final DType type;
  public final Shape elementShape;

  /** How many elements there may be; negative if any number. */
  public final int most;

  public final List<Tensor> elements = new ArrayList<>();

  public TensorList(DType type, Shape elementShape, int most) {
    this.type = type;
    this.elementShape = elementShape;
    this.most = most;
  }

  /** A tensor that holds this list, with one counted reference. */
  public Tensor tensor() {
    return VariantValue.tensor(this);
  }

  @Override
  public String typeName() {
    return TYPE_NAME;
  }

  /**
   * How many elements were never set, and which; the type; how many there may be; the shape. All
   * but the last are varints.
   */
  @Override
  public byte[] metadata() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    try {
      int[] unset =
          IntStream.range(0, elements.size()).filter(i -> elements.get(i) == null).toArray();
      out.writeUInt64NoTag(unset.length);
      for (int i : unset) {
        out.writeUInt64NoTag(i);
      }
      out.writeUInt64NoTag(type.number());
      out.writeUInt64NoTag(most);
      TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
      shape.setUnknownRank(!elementShape.hasRank());
      for (int i = 0; elementShape.hasRank() && i < elementShape.rank(); i++) {
        shape.addDimBuilder().setSize(elementShape.dim(i));
      }
      out.writeRawBytes(shape.build().toByteString());
      out.flush();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return bytes.toByteArray();
  }

  @Override
  public List<Tensor> tensors() {
    return elements.stream().filter(Objects::nonNull).toList();
  }

  @Override
  protected void free() {
    elements.forEach(TensorList::release);
    elements.clear();
  }

  /** Decodes a list from another process; the caller owns one count. */
  private static TensorList decoded(VariantValue.Encoded e) {
    CodedInputStream in = CodedInputStream.newInstance(e.metadata());
    try {
      long unset = in.readUInt64();
      if (unset < 0 || unset > e.metadata().length) {
        throw new IOException(unset + " elements that are not set");
      }
      boolean[] isUnset = new boolean[Math.toIntExact(unset + e.tensors().size())];
      for (long i = 0; i < unset; i++) {
        isUnset[Math.toIntExact(in.readUInt64())] = true;
      }
      DType type = DType.of(Math.toIntExact(in.readUInt64()));
      int most = (int) in.readUInt64();
      byte[] rest = in.readRawBytes(e.metadata().length - in.getTotalBytesRead());
      TensorShapeProto shape = TensorShapeProto.parseFrom(rest);
      Shape elementShape =
          shape.getUnknownRank()
              ? Shape.unknown()
              : Shape.of(shape.getDimList().stream().mapToLong(d -> d.getSize()).toArray());
      TensorList list = new TensorList(type, elementShape, most);
      int next = 0;
      for (boolean u : isUnset) {
        list.elements.add(u ? null : Refs.retain(e.tensors().get(next++)));
      }
      return list;
    } catch (IOException | RuntimeException x) {
      throw MillraceException.invalid(
          "A list with %d bytes of metadata and %d elements is malformed: %s",
          e.metadata().length, e.tensors().size(), x.getMessage());
    }
  }

  private static void release(Tensor t) {
    if (t != null) {
      Refs.release(t);
    }
  }

  /** The list that input {@code i} holds. */
  public static TensorList at(KernelContext c, int i) {
    Tensor t = c.input(i);
    TensorList list = t.elements() == 1 ? at(t.objects(), 0) : null;
    if (list == null) {
      throw MillraceException.invalid(
          "Input handle is not a list. Saw: '%s' of shape %s", t.dtype(), t.shape());
    }
    return list;
  }

  /** Element {@code i} of a variant tensor if it is a list, decoded where that is still due. */
  private static TensorList at(Object[] values, int i) {
    synchronized (values) {
      if (values[i] instanceof VariantValue.Encoded e && e.typeName().equals(TYPE_NAME)) {
        values[i] = decoded(e);
        e.release();
      }
      return values[i] instanceof TensorList list ? list : null;
    }
  }

  /** The same, for elements of this type. */
  public static TensorList at(KernelContext c, int i, DType wanted) {
    TensorList list = at(c, i);
    if (list.type != wanted) {
      throw MillraceException.invalid(
          "Invalid data types; op elements %s but list elements %s", wanted, list.type);
    }
    return list;
  }

  /** A list with the elements of input {@code i}, set as output {@code o}, to be changed. */
  public static TensorList changed(KernelContext c, int i, int o) {
    TensorList list = at(c, i);
    if (c.reusable(i) != null && !list.isShared()) {
      c.forward(o, i);
      return list;
    }
    TensorList copy = list.like();
    for (Tensor t : list.elements) {
      copy.elements.add(t == null ? null : Refs.retain(t));
    }
    c.output(o, copy.tensor());
    return copy;
  }

  /** Sets output 0 to zeros of what input 0 holds: lists of zeros for lists, and so on. */
  public static void zerosLike(KernelContext c) {
    c.output(0, zerosLike(c.input(0)));
  }

  private static Tensor zerosLike(Tensor t) {
    if (t.dtype() != DType.VARIANT) {
      return zeros(t.dtype(), t.shape());
    }
    Tensor out = Refs.allocate(DType.VARIANT, t.shape());
    for (int i = 0; i < out.objects().length; i++) {
      out.objects()[i] = zeroOf(t.objects(), i);
    }
    return out;
  }

  private static VariantValue zeroOf(Object[] values, int i) {
    TensorList list = at(values, i);
    if (list != null) {
      TensorList zeros = list.like();
      list.elements.forEach(t -> zeros.elements.add(t == null ? null : zerosLike(t)));
      return zeros;
    }
    OptionalValue optional = OptionalValue.at(values, i);
    if (optional != null) {
      return new OptionalValue(optional.tensors().stream().map(TensorList::zerosLike).toList());
    }
    return switch (values[i]) {
      case null -> null;
      case VariantValue.Encoded e when e.typeName().equals("int") ->
          new VariantValue.Encoded("int", new byte[4], List.of());
      default ->
          throw new MillraceException(
              Code.INTERNAL,
              "No unary variant unary_op function found for op ZEROS_LIKE Variant type_name: "
                  + (values[i] instanceof VariantValue v ? v.typeName() : "unknown"));
    };
  }

  /** Sets output 0 to the sum, element by element, of the lists of all inputs. */
  public static void sum(KernelContext c) {
    Tensor sum = Refs.retain(c.input(0));
    for (int k = 1; k < c.inputCount(); k++) {
      Tensor before = sum;
      try {
        sum = sum(before, c.input(k));
      } finally {
        Refs.release(before);
      }
    }
    c.output(0, sum);
  }

  private static Tensor sum(Tensor a, Tensor b) {
    if (a.dtype() != b.dtype() || !a.shape().equals(b.shape())) {
      throw MillraceException.invalid(
          "Trying to add two tensors with incompatible element shapes. One is %s and the other is"
              + " %s",
          a.shape(), b.shape());
    }
    if (a.dtype() != DType.VARIANT) {
      Tensor out = Refs.allocate(a.dtype(), a.shape());
      Elementwise.addN(new Tensor[] {a, b}, out);
      return out;
    }
    Tensor out = Refs.allocate(DType.VARIANT, a.shape());
    try {
      for (int i = 0; i < out.objects().length; i++) {
        TensorList x = at(a.objects(), i);
        TensorList y = at(b.objects(), i);
        if (x == null || y == null) {
          throw MillraceException.invalid("Trying to add variants that are not lists.");
        }
        out.objects()[i] = x.plus(y);
      }
      return out;
    } catch (RuntimeException e) {
      Refs.release(out);
      throw e;
    }
  }

  private TensorList plus(TensorList other) {
    if (type != other.type) {
      throw MillraceException.invalid(
          "Trying to add two lists of tensors of different dtypes. One is %s and the other is %s",
          type, other.type);
    }
    if (elements.size() != other.elements.size()) {
      throw MillraceException.invalid(
          "Trying to add two lists of tensors with different lengths. One is %d and the other is"
              + " %d",
          elements.size(), other.elements.size());
    }
    if (!elementShape.isCompatibleWith(other.elementShape)) {
      throw MillraceException.invalid(
          "Trying to add two lists of tensors with incompatible element shapes. One is %s and the"
              + " other is %s",
          elementShape, other.elementShape);
    }
    TensorList sum = new TensorList(type, elementShape.mergeWith(other.elementShape), most);
    try {
      for (int i = 0; i < elements.size(); i++) {
        Tensor a = elements.get(i);
        Tensor b = other.elements.get(i);
        Tensor only = a == null ? b : a;
        sum.elements.add(
            a != null && b != null ? sum(a, b) : only == null ? null : Refs.retain(only));
      }
      return sum;
    } catch (RuntimeException e) {
      sum.release();
      throw e;
    }
  }

  /** An empty list of the same kind. */
  TensorList like() {
    return new TensorList(type, elementShape, most);
  }

  /** Puts a value at the end, with a counted reference of its own. */
  public void push(Tensor value) {
    check(value);
    elements.add(Refs.retain(value));
  }

  /** Puts a value in the place of another, with a counted reference of its own. */
  public void set(int index, Tensor value) {
    check(value);
    checkIndex(index, "modify");
    release(elements.set(index, Refs.retain(value)));
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
  public Tensor pop(Shape known) {
    if (elements.isEmpty()) {
      throw MillraceException.invalid("Trying to pop from an empty list.");
    }
    Tensor last = elements.getLast();
    Tensor value = last != null ? last : zeros(common(known));
    elements.removeLast();
    return value;
  }

  /** An element, with a counted reference that is the caller's. */
  public Tensor get(int index, Shape known) {
    checkIndex(index, "access");
    Tensor t = elements.get(index);
    return t == null ? zeros(common(known)) : Refs.retain(t);
  }

  public void resize(int size) {
    while (elements.size() > size) {
      release(elements.removeLast());
    }
    while (elements.size() < size) {
      elements.add(null);
    }
  }

  /** The shape that elements have by all that is known of them. */
  private Shape common(Shape known) {
    Shape s = merged(elementShape, known);
    for (Tensor t : elements) {
      if (s.isKnown()) {
        break;
      }
      s = t == null ? s : merged(s, t.shape());
    }
    return s;
  }

  /** The shape of all elements with these indices, where a caller knows {@code known} of it. */
  public Shape commonOf(int[] indices, Shape known) {
    Shape s = merged(elementShape, known);
    for (int i : indices) {
      checkIndex(i, "access");
      Tensor t = elements.get(i);
      s = t == null ? s : merged(s, t.shape());
    }
    return s;
  }

  private static Shape merged(Shape a, Shape b) {
    if (a.hasRank() && b.hasRank() && a.rank() != b.rank()) {
      throw MillraceException.invalid(
          "Incompatible ranks during merge: %d vs. %d", a.rank(), b.rank());
    }
    if (!a.isCompatibleWith(b)) {
      throw MillraceException.invalid("Incompatible shapes during merge: %s vs. %s", a, b);
    }
    return a.mergeWith(b);
  }

  private Tensor zeros(Shape shape) {
    if (!shape.isKnown()) {
      throw MillraceException.invalid(
          "Trying to read an uninitialized tensor but element_shape is not fully defined: %s"
              + " and no list element is set.",
          shape);
    }
    return zeros(type, shape);
  }

  /** A tensor of zeros or empty strings, with a counted reference that is the caller's. */
  public static Tensor zeros(DType type, Shape shape) {
    Tensor zero = Refs.allocate(type, shape);
    if (type.isPlain()) {
      zero.data().fill((byte) 0);
    } else if (type != DType.VARIANT) {
      Arrays.fill(zero.objects(), new byte[0]);
    }
    return zero;
  }
}
