package dev.millrace.train.data.arrow;

import dev.millrace.train.data.column.Cells;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;

/**
 * The values of a field in a record batch. What lies outside of its buffers fails with
 * IndexOutOfBoundsException.
 *
 * @param validities bits that must all be set for a value to be there
 * @param offsets where strings or lists begin; null for others
 * @param data the values, or the numbers into the dictionary
 * @param values the values of lists
 * @param dictionary the parts of the dictionary; null without one
 */
record ArrowColumn(
    ArrowField field,
    List<byte[]> validities,
    byte[] offsets,
    byte[] data,
    ArrowColumn values,
    List<ArrowColumn> dictionary) {
  private static final VarHandle SHORT = view(short[].class);
  private static final VarHandle INT = view(int[].class);
  private static final VarHandle LONG = view(long[].class);
  private static final VarHandle FLOAT = view(float[].class);
  private static final VarHandle DOUBLE = view(double[].class);

  private static VarHandle view(Class<?> type) {
    return MethodHandles.byteArrayViewVarHandle(type, ByteOrder.LITTLE_ENDIAN);
  }

  /** Whether value {@code i} is there. */
  boolean has(int i) {
    for (byte[] bits : validities) {
      if ((bits[i >>> 3] >> (i & 7) & 1) == 0) {
        return false;
      }
    }
    return true;
  }

  /** The first value of list {@code i}, or the first byte of string {@code i}. */
  int start(int i) {
    if (field.kind() == ArrowField.Kind.FIXED_LIST) {
      return Math.multiplyExact(i, field.length());
    }
    return field.wide()
        ? Math.toIntExact((long) LONG.get(offsets, Math.multiplyExact(8, i)))
        : (int) INT.get(offsets, Math.multiplyExact(4, i));
  }

  /** Writes value {@code i}, which is there. */
  void put(Cells cells, int cell, long at, int i) throws IOException {
    if (dictionary != null) {
      long place = whole(field.index(), i);
      for (ArrowColumn part : dictionary) {
        int n = part.size();
        if (place >= 0 && place < n) {
          part.put(cells, cell, at, (int) place);
          return;
        }
        place -= n;
      }
      throw new IOException("field '" + field.name() + "' names an entry its dictionary lacks");
    }
    switch (field.kind()) {
      case BIT -> cells.putLong(cell, at, data[i >>> 3] >> (i & 7) & 1);
      case SIGNED, UNSIGNED -> cells.putLong(cell, at, whole(field, i));
      case FRACTION -> cells.putDouble(cell, at, fraction(i));
      case STRING -> cells.putBytes(cell, at, Arrays.copyOfRange(data, start(i), end(i)));
      case FIXED_STRING ->
          cells.putBytes(
              cell,
              at,
              Arrays.copyOfRange(data, i * field.bytes(), checked((i + 1) * field.bytes())));
      default -> throw new NumberFormatException("no single value");
    }
  }

  /** How many values a dictionary has. */
  private int size() {
    return switch (field.kind()) {
      case STRING -> Math.max(0, offsets.length / (field.wide() ? 8 : 4) - 1);
      case BIT -> 8 * data.length;
      default -> data.length / field.bytes();
    };
  }

  private int end(int i) {
    return checked(start(i + 1));
  }

  /** Arrays are filled up with zeros beyond their ends otherwise. */
  private int checked(int end) {
    if (end > data.length) {
      throw new IndexOutOfBoundsException(end);
    }
    return end;
  }

  private long whole(ArrowField type, int i) {
    boolean signed = type.kind() == ArrowField.Kind.SIGNED;
    return switch (type.bytes()) {
      case 1 -> signed ? data[i] : data[i] & 0xFF;
      case 2 -> {
        short v = (short) SHORT.get(data, 2 * i);
        yield signed ? v : v & 0xFFFF;
      }
      case 4 -> {
        int v = (int) INT.get(data, 4 * i);
        yield signed ? v : v & 0xFFFF_FFFFL;
      }
      default -> {
        long v = (long) LONG.get(data, Math.multiplyExact(8, i));
        if (!signed && v < 0) {
          throw new NumberFormatException("out of range");
        }
        yield v;
      }
    };
  }

  private double fraction(int i) {
    return switch (field.bytes()) {
      case 2 -> Float.float16ToFloat((short) SHORT.get(data, 2 * i));
      case 4 -> (float) FLOAT.get(data, 4 * i);
      default -> (double) DOUBLE.get(data, Math.multiplyExact(8, i));
    };
  }
}
