package dev.millrace.train.data.column;

import java.nio.charset.StandardCharsets;

/**
 * Numbers from the bytes of a field, as {@link Long#parseLong} and {@link Double#parseDouble} read
 * them, without a string for those that are written plainly. Spaces around a number are passed
 * over.
 */
public final class FieldNumbers {
  /** Powers of ten that a double has exactly. */
  private static final double[] POWERS = new double[23];

  /** Whole numbers up to here are exact in a double. */
  private static final long EXACT = 1L << 53;

  /** What lies between the bits of a float and those of a double, and the half of it. */
  private static final long LOW_BITS = (1L << 29) - 1;

  private static final long HALF = 1L << 28;

  static {
    for (int i = 0; i < POWERS.length; i++) {
      POWERS[i] = Double.parseDouble("1e" + i);
    }
  }

  private FieldNumbers() {}

  /** The whole number; fails with NumberFormatException if it is none or not in the range. */
  public static long whole(byte[] bytes, int from, int to, long least, long most) {
    int i = from;
    boolean negative = i < to && bytes[i] == '-';
    if (negative) {
      i++;
    }
    long value = 0;
    int digits = i;
    for (; i < to; i++) {
      int d = bytes[i] - '0';
      if (d < 0 || d > 9) {
        break;
      }
      value = 10 * value + d;
    }
    if (i < to || i == digits || i - digits > 18) {
      value = Long.parseLong(text(bytes, from, to));
    } else if (negative) {
      value = -value;
    }
    if (value < least || value > most) {
      throw new NumberFormatException("out of range");
    }
    return value;
  }

  /** The nearest double; fails with NumberFormatException if it is no number. */
  public static double number(byte[] bytes, int from, int to) {
    int i = from;
    boolean negative = i < to && bytes[i] == '-';
    if (negative) {
      i++;
    }
    long mantissa = 0;
    int digits = 0;
    int behindPoint = 0;
    boolean point = false;
    for (; i < to; i++) {
      int d = bytes[i] - '0';
      if (d >= 0 && d <= 9) {
        mantissa = 10 * mantissa + d;
        digits++;
        behindPoint += point ? 1 : 0;
      } else if (bytes[i] == '.' && !point) {
        point = true;
      } else {
        break;
      }
    }
    // One division of two exact numbers rounds once, as it should.
    if (i < to || digits == 0 || digits > 18 || mantissa > EXACT) {
      return Double.parseDouble(text(bytes, from, to));
    }
    double value = mantissa / POWERS[behindPoint];
    return negative ? -value : value;
  }

  /** The nearest float. */
  public static float single(byte[] bytes, int from, int to) {
    double value = number(bytes, from, to);
    // Where the double fell on the middle between two floats, it would be rounded a second time.
    return (Double.doubleToRawLongBits(value) & LOW_BITS) == HALF
        ? Float.parseFloat(text(bytes, from, to))
        : (float) value;
  }

  private static String text(byte[] bytes, int from, int to) {
    return new String(bytes, from, to - from, StandardCharsets.UTF_8).strip();
  }
}
