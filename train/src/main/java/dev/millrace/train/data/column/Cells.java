package dev.millrace.train.data.column;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.ElementType;
import dev.millrace.train.data.RowBuffer;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * Writes values into the columns of a {@link RowBuffer}. A value stands at the number of its row
 * times the width of its column, plus its place in the row. Values that a column's type does not
 * have are refused with NumberFormatException.
 *
 * <p>Threading: one thread at a time.
 */
public final class Cells {
  private final List<ElementType> types;
  private final DType[] dtypes;
  private final MemorySegment[] data;
  private final Object[][] objects;

  /** For columns of these types. */
  public Cells(List<ElementType> types) {
    this.types = List.copyOf(types);
    dtypes = types.stream().map(ElementType::dtype).toArray(DType[]::new);
    data = new MemorySegment[dtypes.length];
    objects = new Object[dtypes.length][];
  }

  /** Declares the columns of {@code to} and makes room for {@code rows} more rows. */
  public void open(RowBuffer to, int rows) {
    to.declare(types);
    to.room(rows);
    for (int c = 0; c < dtypes.length; c++) {
      if (dtypes[c] == DType.STRING) {
        objects[c] = to.objects(c);
      } else {
        data[c] = to.data(c);
      }
    }
  }

  /** Writes a string. */
  public void putBytes(int column, long at, byte[] value) {
    if (dtypes[column] != DType.STRING) {
      throw new NumberFormatException("a string");
    }
    objects[column][(int) at] = value;
  }

  /** Writes a whole number into a column of numbers. */
  public void putLong(int column, long at, long v) {
    MemorySegment m = data[column];
    switch (dtypes[column]) {
      case FLOAT -> m.setAtIndex(ValueLayout.JAVA_FLOAT, at, (float) v);
      case DOUBLE -> m.setAtIndex(ValueLayout.JAVA_DOUBLE, at, (double) v);
      case INT64 -> m.setAtIndex(ValueLayout.JAVA_LONG, at, v);
      case INT32 ->
          m.setAtIndex(
              ValueLayout.JAVA_INT, at, (int) checked(v, Integer.MIN_VALUE, Integer.MAX_VALUE));
      case INT16 ->
          m.setAtIndex(
              ValueLayout.JAVA_SHORT, at, (short) checked(v, Short.MIN_VALUE, Short.MAX_VALUE));
      case INT8 -> m.set(ValueLayout.JAVA_BYTE, at, (byte) checked(v, -128, 127));
      case UINT8 -> m.set(ValueLayout.JAVA_BYTE, at, (byte) checked(v, 0, 255));
      default -> throw new NumberFormatException("a whole number");
    }
  }

  /**
   * Entries of which some have no value.
   *
   * @param levels the levels of entries; null if all have a value
   * @param first the number of the first of the entries
   * @param there the level of those that have a value
   * @param count how many they are
   * @param missing what stands for the others; null if there must be none
   */
  public record Entries(int[] levels, int first, int there, int count, Missing missing) {
    private boolean lacks(int i) {
      if (levels == null || levels[first + i] == there) {
        return false;
      }
      if (missing == null) {
        throw new IllegalStateException("an entry has no value");
      }
      return true;
    }
  }

  /**
   * Writes whole numbers into every {@code width}th place from {@code at} on. Those of the entries
   * that have a value take the values from number {@code from} on. Returns how many those are.
   */
  public int putLongs(int column, long at, int width, long[] values, int from, Entries entries) {
    boolean floats = dtypes[column] == DType.FLOAT;
    boolean longs = dtypes[column] == DType.INT64;
    MemorySegment m = data[column];
    int taken = from;
    long place = at;
    for (int i = 0; i < entries.count; i++, place += width) {
      if (entries.lacks(i)) {
        putMissing(column, place, 1, entries.missing);
      } else if (floats) {
        m.setAtIndex(ValueLayout.JAVA_FLOAT, place, (float) values[taken++]);
      } else if (longs) {
        m.setAtIndex(ValueLayout.JAVA_LONG, place, values[taken++]);
      } else {
        putLong(column, place, values[taken++]);
      }
    }
    return taken - from;
  }

  /** The same with strings. */
  public int putStrings(
      int column, long at, int width, byte[][] values, int from, Entries entries) {
    Object[] to = objects[column];
    int taken = from;
    int place = Math.toIntExact(at);
    for (int i = 0; i < entries.count; i++, place += width) {
      to[place] = entries.lacks(i) ? entries.missing.text : values[taken++];
    }
    return taken - from;
  }

  private static long checked(long v, long least, long most) {
    if (v < least || v > most) {
      throw new NumberFormatException("out of range");
    }
    return v;
  }

  /** Writes a fraction into a column of fractions. */
  public void putDouble(int column, long at, double v) {
    MemorySegment m = data[column];
    switch (dtypes[column]) {
      case FLOAT -> m.setAtIndex(ValueLayout.JAVA_FLOAT, at, (float) v);
      case DOUBLE -> m.setAtIndex(ValueLayout.JAVA_DOUBLE, at, v);
      default -> throw new NumberFormatException("a fraction");
    }
  }

  /** Writes what a text says, in the notation of Java's numbers; a string as it is. */
  public void putText(int column, long at, byte[] bytes, int from, int to) {
    MemorySegment m = data[column];
    switch (dtypes[column]) {
      case STRING -> objects[column][(int) at] = Arrays.copyOfRange(bytes, from, to);
      case FLOAT -> m.setAtIndex(ValueLayout.JAVA_FLOAT, at, FieldNumbers.single(bytes, from, to));
      case DOUBLE ->
          m.setAtIndex(ValueLayout.JAVA_DOUBLE, at, FieldNumbers.number(bytes, from, to));
      case INT64 ->
          m.setAtIndex(
              ValueLayout.JAVA_LONG,
              at,
              FieldNumbers.whole(bytes, from, to, Long.MIN_VALUE, Long.MAX_VALUE));
      case INT32 ->
          m.setAtIndex(
              ValueLayout.JAVA_INT,
              at,
              (int) FieldNumbers.whole(bytes, from, to, Integer.MIN_VALUE, Integer.MAX_VALUE));
      default ->
          putLong(
              column,
              at,
              FieldNumbers.whole(bytes, from, to, Integer.MIN_VALUE, Integer.MAX_VALUE));
    }
  }

  /** Writes {@code count} times what an empty field stands for. */
  public void putMissing(int column, long at, int count, Missing missing) {
    for (int i = 0; i < count; i++) {
      switch (dtypes[column]) {
        case STRING -> objects[column][(int) at + i] = missing.text;
        case FLOAT, DOUBLE -> putDouble(column, at + i, missing.fraction);
        default -> putLong(column, at + i, missing.whole);
      }
    }
  }

  /**
   * The value of an empty field.
   *
   * @param text in UTF-8
   * @param fraction the number it says, in a column of fractions
   * @param whole the number it says, in a column of whole numbers
   */
  public record Missing(byte[] text, double fraction, long whole) {
    /** The value of {@code column}; null if none of its fields may be empty. */
    public static Missing of(Column column) {
      if (column.missing() == null) {
        return null;
      }
      byte[] text = column.missing().getBytes(StandardCharsets.UTF_8);
      Cells cells = new Cells(List.of(ElementType.scalar(column.dtype())));
      try (RowBuffer one = new RowBuffer(1)) {
        cells.open(one, 1);
        cells.putText(0, 0, text, 0, text.length);
        one.added(1);
        try (Tensor value = one.take(0)[0]) {
          return switch (column.dtype()) {
            case STRING -> new Missing(text, 0, 0);
            case FLOAT, DOUBLE -> new Missing(text, value.doubleAt(0), 0);
            default -> new Missing(text, 0, value.longAt(0));
          };
        }
      } catch (NumberFormatException e) {
        throw MillraceException.invalid(
            "Column '%s' is %s, but what an empty field stands for is '%s'.",
            column.name(), column.dtype(), column.missing());
      }
    }
  }
}
