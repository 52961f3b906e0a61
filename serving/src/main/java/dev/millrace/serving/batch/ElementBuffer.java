package dev.millrace.serving.batch;

import dev.millrace.base.MillraceException;
import dev.millrace.serving.model.TensorSpec;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The elements of an input while they are collected, before their number is known. Values that the
 * type of the input cannot hold are refused.
 */
public final class ElementBuffer {
  private static final int FIRST = 16;

  private final TensorSpec input;
  private final DType dtype;
  private int size;

  /** Elements of the floating types; null for all others. */
  private double[] doubles;

  /** Elements of type float; null for all others. */
  private float[] floats;

  /** Integers and bools; null for all others. */
  private long[] longs;

  /** Strings; null for all others. */
  private Object[] strings;

  /** For the elements of {@code input}. */
  public ElementBuffer(TensorSpec input) {
    this.input = input;
    dtype = input.dtype();
    switch (dtype) {
      case FLOAT -> floats = new float[FIRST];
      case DOUBLE, HALF, BFLOAT16 -> doubles = new double[FIRST];
      case STRING -> strings = new Object[FIRST];
      case BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 ->
          longs = new long[FIRST];
      default ->
          throw MillraceException.invalid(
              "Input '%s' is %s, which cannot be given as values.", input.name(), dtype);
    }
  }

  /** The input. */
  public TensorSpec input() {
    return input;
  }

  /** How many elements there are. */
  public int size() {
    return size;
  }

  /** Adds a number that may have a fraction. */
  public void add(double v) {
    if (floats != null) {
      growFloats();
      floats[size++] = (float) v;
    } else if (doubles != null) {
      if (size == doubles.length) {
        doubles = Arrays.copyOf(doubles, next());
      }
      doubles[size++] = v;
    } else if (longs != null
        && dtype != DType.BOOL
        && v == Math.rint(v)
        && Math.abs(v) < 1L << 53) {
      add((long) v);
    } else {
      throw wrong("number", Double.toString(v));
    }
  }

  /** Adds a whole number. */
  public void add(long v) {
    if (longs != null && dtype != DType.BOOL) {
      checkRange(v);
      growLongs();
      longs[size++] = v;
    } else if (floats != null || doubles != null) {
      add((double) v);
    } else {
      throw wrong("number", Long.toString(v));
    }
  }

  /** Adds a truth value. */
  public void add(boolean v) {
    if (dtype != DType.BOOL) {
      throw wrong("truth value", Boolean.toString(v));
    }
    growLongs();
    longs[size++] = v ? 1 : 0;
  }

  /** Adds a string. */
  public void add(byte[] v) {
    if (strings == null) {
      throw wrong("string", "'" + new String(v, StandardCharsets.UTF_8) + "'");
    }
    if (size == strings.length) {
      strings = Arrays.copyOf(strings, next());
    }
    strings[size++] = v;
  }

  /** Adds an element given as text: a number, a truth value or a string, as the input has it. */
  public void addText(String text) {
    try {
      switch (dtype) {
        case STRING -> add(text.getBytes(StandardCharsets.UTF_8));
        case BOOL -> add(truth(text));
        case FLOAT -> {
          growFloats();
          floats[size] = Float.parseFloat(text);
          size++;
        }
        case DOUBLE, HALF, BFLOAT16 -> add(Double.parseDouble(text));
        case UINT64 -> {
          growLongs();
          longs[size] = Long.parseUnsignedLong(text.strip());
          size++;
        }
        default -> add(Long.parseLong(text.strip()));
      }
    } catch (NumberFormatException e) {
      throw MillraceException.invalid(
          "Input '%s' is %s; '%s' is not one.", input.name(), dtype, text);
    }
  }

  private boolean truth(String text) {
    return switch (text.strip()) {
      case "true", "True", "1" -> true;
      case "false", "False", "0" -> false;
      default -> throw wrong("string", "'" + text + "'");
    };
  }

  private void growFloats() {
    if (size == floats.length) {
      floats = Arrays.copyOf(floats, next());
    }
  }

  private void growLongs() {
    if (size == longs.length) {
      longs = Arrays.copyOf(longs, next());
    }
  }

  private int next() {
    return Math.multiplyExact(size, 2);
  }

  private void checkRange(long v) {
    int bits = dtype.bytes() * 8;
    boolean fits =
        switch (dtype) {
          case UINT64 -> v >= 0;
          case UINT8, UINT16, UINT32 -> v >= 0 && v < 1L << bits;
          default -> bits == 64 || v >= -(1L << (bits - 1)) && v < 1L << (bits - 1);
        };
    if (!fits) {
      throw MillraceException.invalid(
          "Input '%s' is %s, which cannot hold %d.", input.name(), dtype, v);
    }
  }

  private MillraceException wrong(String kind, String value) {
    String shown = value.length() > 60 ? value.substring(0, 60) + "..." : value;
    return MillraceException.invalid(
        "Input '%s' is %s; the %s %s is not one.", input.name(), dtype, kind, shown);
  }

  /** The elements as a tensor of {@code shape}, which is the caller's. */
  public Tensor build(Shape shape) {
    if (shape.elements() != size) {
      throw MillraceException.invalid(
          "Input '%s' has %d values, which do not fill the shape %s.", input.name(), size, shape);
    }
    if (floats != null) {
      return Tensor.of(shape, Arrays.copyOf(floats, size));
    }
    if (strings != null) {
      return Tensor.ofObjects(DType.STRING, shape, Arrays.copyOf(strings, size));
    }
    Tensor t = Tensor.allocate(dtype, shape);
    for (int i = 0; i < size; i++) {
      if (doubles != null) {
        t.setDouble(i, doubles[i]);
      } else {
        t.setLong(i, longs[i]);
      }
    }
    return t;
  }

  /**
   * The elements of {@code rows} rows of shape {@code row} as a tensor. Where the input has one
   * more dimension, of size 1, it is added: a row of it may be given as a number.
   */
  public Tensor buildRows(long rows, Shape row) {
    Shape whole = Shape.of(rows).concat(row);
    Shape wanted = input.shape();
    boolean flat =
        wanted.hasRank() && wanted.rank() == whole.rank() + 1 && wanted.dim(wanted.rank() - 1) == 1;
    return build(flat ? whole.concat(Shape.of(1)) : whole);
  }
}
