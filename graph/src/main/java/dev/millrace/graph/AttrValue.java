package dev.millrace.graph;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The value of a node's attribute. One case for each that TensorFlow's AttrValue has. */
public sealed interface AttrValue {
  /** Bytes, most often text. */
  record Str(byte[] bytes) implements AttrValue {
    public static Str of(String text) {
      return new Str(text.getBytes(StandardCharsets.UTF_8));
    }

    public String text() {
      return new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public boolean equals(Object o) {
      return o instanceof Str s && Arrays.equals(bytes, s.bytes);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(bytes);
    }

    @Override
    public String toString() {
      return '"' + text() + '"';
    }
  }

  /** An integer. */
  record Int(long value) implements AttrValue {
    @Override
    public String toString() {
      return Long.toString(value);
    }
  }

  /** A floating-point number. */
  record Real(float value) implements AttrValue {
    @Override
    public String toString() {
      return Float.toString(value);
    }
  }

  /** True or false. */
  record Bool(boolean value) implements AttrValue {
    @Override
    public String toString() {
      return Boolean.toString(value);
    }
  }

  /** An element type. */
  record Type(DType value) implements AttrValue {
    @Override
    public String toString() {
      return value.label();
    }
  }

  /** A shape, possibly partly unknown. */
  record Dims(Shape value) implements AttrValue {
    @Override
    public String toString() {
      return value.toString();
    }
  }

  /** A constant tensor, owned by the attribute for as long as it lives. */
  record Value(Tensor value) implements AttrValue {
    /** Shares the memory of the tensor, which may be closed: the attribute keeps its own. */
    public Value {
      value = Refs.constant(value);
    }

    /** Same type, shape and bits. */
    @Override
    public boolean equals(Object o) {
      if (!(o instanceof Value v)
          || v.value.dtype() != value.dtype()
          || !v.value.shape().equals(value.shape())) {
        return false;
      }
      return value.dtype().isPlain()
          ? value.data().mismatch(v.value.data()) < 0
          : Arrays.deepEquals(value.objects(), v.value.objects());
    }

    @Override
    public int hashCode() {
      return value.shape().hashCode() * 31 + value.dtype().hashCode();
    }

    @Override
    public String toString() {
      return value.toString();
    }
  }

  /**
   * A function by name, with the attributes of the call and its body; the body is null if unknown.
   */
  record Func(String name, Map<String, AttrValue> attrs, FunctionGraph body) implements AttrValue {
    public Func(String name, Map<String, AttrValue> attrs) {
      this(name, attrs, null);
    }

    @Override
    public String toString() {
      return name + attrs;
    }
  }

  /** A name that is replaced by a value when a function is instantiated. */
  record Placeholder(String name) implements AttrValue {}

  /** A list of values of one kind; the kind of an empty list is not known. */
  record Many(List<AttrValue> values) implements AttrValue {
    @Override
    public String toString() {
      return values.stream().map(Object::toString).collect(Collectors.joining(", ", "[", "]"));
    }
  }

  /** A value of an unknown kind, kept in its encoded form. */
  record Opaque(byte[] encoded) implements AttrValue {
    @Override
    public boolean equals(Object o) {
      return o instanceof Opaque x && Arrays.equals(encoded, x.encoded);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(encoded);
    }
  }

  /**
   * The attribute value for a Java one: String, byte[], Integer, Long, Float, Double, Boolean,
   * DType, Shape, Tensor, an AttrValue, or a list or array of these.
   */
  static AttrValue of(Object v) {
    return switch (v) {
      case AttrValue a -> a;
      case String s -> Str.of(s);
      case byte[] b -> new Str(b);
      case Integer i -> new Int(i);
      case Long l -> new Int(l);
      case Float f -> new Real(f);
      case Double d -> new Real(d.floatValue());
      case Boolean b -> new Bool(b);
      case DType t -> new Type(t);
      case Shape s -> new Dims(s);
      case Tensor t -> new Value(t);
      case long[] a -> new Many(Arrays.stream(a).mapToObj(x -> (AttrValue) new Int(x)).toList());
      case int[] a -> new Many(Arrays.stream(a).mapToObj(x -> (AttrValue) new Int(x)).toList());
      case List<?> l -> new Many(l.stream().map(AttrValue::of).toList());
      case Object[] a -> new Many(Arrays.stream(a).map(AttrValue::of).toList());
      case null, default ->
          throw MillraceException.invalid("%s cannot be the value of an attribute.", v);
    };
  }
}
