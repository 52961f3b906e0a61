package dev.millrace.storage.array;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.Map;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a {@code .npy} array says of itself: a Python dictionary as text.
 *
 * @param kind S for bytes, U for text, and 0 for numbers
 * @param width the bytes of an element
 * @param swapped whether its numbers are big-endian
 * @param fortran whether its first dimension is the one that changes fastest
 */
record NpyHeader(DType dtype, char kind, int width, boolean swapped, boolean fortran, Shape shape) {
  private static final Pattern DESCR =
      Pattern.compile("['\"]descr['\"]\\s*:\\s*['\"]([<>|=]?)([a-zA-Z?])([0-9]{0,9})['\"]");
  private static final Pattern ORDER =
      Pattern.compile("['\"]fortran_order['\"]\\s*:\\s*(True|False)");
  private static final Pattern SHAPE =
      Pattern.compile("['\"]shape['\"]\\s*:\\s*\\(([0-9L,\\s]{0,1000})\\)");
  private static final int MOST_DIMENSIONS = 32;

  private static final Map<DType, String> CODES =
      Map.ofEntries(
          Map.entry(DType.HALF, "f2"),
          Map.entry(DType.FLOAT, "f4"),
          Map.entry(DType.DOUBLE, "f8"),
          Map.entry(DType.INT8, "i1"),
          Map.entry(DType.INT16, "i2"),
          Map.entry(DType.INT32, "i4"),
          Map.entry(DType.INT64, "i8"),
          Map.entry(DType.UINT8, "u1"),
          Map.entry(DType.UINT16, "u2"),
          Map.entry(DType.UINT32, "u4"),
          Map.entry(DType.UINT64, "u8"),
          Map.entry(DType.BOOL, "b1"),
          Map.entry(DType.COMPLEX64, "c8"),
          Map.entry(DType.COMPLEX128, "c16"));

  /** Reads it; {@code array} is what an error calls the array. */
  static NpyHeader parse(String text, String array) {
    Matcher descr = DESCR.matcher(text);
    Matcher order = ORDER.matcher(text);
    Matcher dims = SHAPE.matcher(text);
    if (!order.find() || !dims.find()) {
      throw MillraceException.invalid("%s has a header that NumPy does not write.", array);
    }
    if (!descr.find()) {
      throw MillraceException.invalid(
          "%s is a structured array, which is not read. Save each of its fields as an array.",
          array);
    }
    boolean swapped = descr.group(1).equals(">");
    boolean fortran = order.group(1).equals("True");
    Shape shape = shape(dims.group(1), array);
    char kind = descr.group(2).charAt(0);
    int size = descr.group(3).isEmpty() ? 1 : Integer.parseInt(descr.group(3));
    if (kind == 'S' || kind == 'U') {
      int width = kind == 'U' ? Math.multiplyExact(4, size) : size;
      return new NpyHeader(DType.STRING, kind, width, swapped, fortran, shape);
    }
    String code = kind == '?' ? "b1" : kind + Integer.toString(size);
    for (Map.Entry<DType, String> e : CODES.entrySet()) {
      if (e.getValue().equals(code)) {
        return new NpyHeader(e.getKey(), (char) 0, e.getKey().bytes(), swapped, fortran, shape);
      }
    }
    throw MillraceException.invalid(
        kind == 'O'
            ? "%s is an array of Python objects, which is not read. Convert it with"
                + " astype before it is saved."
            : "%s has elements of NumPy's type '%s', which is not read.",
        array,
        code);
  }

  private static Shape shape(String text, String array) {
    String[] parts = text.isBlank() ? new String[0] : text.replace("L", "").split(",");
    if (parts.length > MOST_DIMENSIONS) {
      throw MillraceException.invalid("%s has %d dimensions.", array, parts.length);
    }
    long[] dims = new long[parts.length];
    try {
      for (int i = 0; i < dims.length; i++) {
        dims[i] = Long.parseLong(parts[i].strip());
      }
      return Shape.of(dims);
    } catch (NumberFormatException e) {
      throw MillraceException.invalid("%s has the shape (%s).", array, text);
    }
  }

  /** The type of NumPy for {@code dtype}. */
  static String code(DType dtype, String array) {
    String code = CODES.get(dtype);
    if (code == null) {
      throw MillraceException.invalid(
          "%s is %s, which NumPy does not have. Write a .safetensors file.", array, dtype);
    }
    return code;
  }

  /** The dictionary of an array in row-major order; {@code code} is its type. */
  static String text(String code, Shape shape) {
    StringJoiner dims = new StringJoiner(", ", "(", shape.rank() == 1 ? ",)" : ")");
    for (long d : shape.dims()) {
      dims.add(Long.toString(d));
    }
    String order = code.startsWith("S") || code.endsWith("1") ? "|" : "<";
    return "{'descr': '" + order + code + "', 'fortran_order': False, 'shape': " + dims + ", }";
  }
}
