package dev.millrace.ops.text;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;

/**
 * Numbers as C prints them. Java's own formats round the digits a number is usually shown with, C
 * the number itself.
 */
final class Printf {
  private static final int DEFAULT_PRECISION = 6;

  private Printf() {}

  /** Like {@code %f}, {@code %e} or {@code %g}; a precision below 0 stands for 6. */
  static String real(double v, char conversion, int precision) {
    if (Double.isNaN(v)) {
      return Double.doubleToRawLongBits(v) < 0 ? "-nan" : "nan";
    }
    if (Double.isInfinite(v)) {
      return v < 0 ? "-inf" : "inf";
    }
    int p = precision < 0 ? DEFAULT_PRECISION : precision;
    boolean isNegative = Double.doubleToRawLongBits(v) < 0;
    BigDecimal exact = new BigDecimal(Math.abs(v));
    String digits =
        switch (conversion) {
          case 'f' -> exact.setScale(p, RoundingMode.HALF_EVEN).toPlainString();
          case 'e' -> scientific(exact, p);
          default -> general(exact, Math.max(1, p));
        };
    return isNegative ? "-" + digits : digits;
  }

  private static String scientific(BigDecimal v, int p) {
    if (v.signum() == 0) {
      return "0" + (p > 0 ? "." + "0".repeat(p) : "") + "e+00";
    }
    BigDecimal rounded = v.round(new MathContext(p + 1, RoundingMode.HALF_EVEN));
    int exponent = rounded.precision() - rounded.scale() - 1;
    String digits = rounded.unscaledValue().toString();
    digits += "0".repeat(Math.max(0, p + 1 - digits.length()));
    return digits.charAt(0)
        + (p > 0 ? "." + digits.substring(1, p + 1) : "")
        + (exponent < 0 ? "e-" : "e+")
        + (Math.abs(exponent) < 10 ? "0" : "")
        + Math.abs(exponent);
  }

  private static String general(BigDecimal v, int p) {
    BigDecimal rounded = v.round(new MathContext(p, RoundingMode.HALF_EVEN));
    int exponent = v.signum() == 0 ? 0 : rounded.precision() - rounded.scale() - 1;
    if (exponent >= -4 && exponent < p) {
      return trimmed(rounded.setScale(p - 1 - exponent, RoundingMode.HALF_EVEN).toPlainString());
    }
    String s = scientific(v, p - 1);
    int e = s.indexOf('e');
    return trimmed(s.substring(0, e)) + s.substring(e);
  }

  private static String trimmed(String s) {
    if (s.indexOf('.') < 0) {
      return s;
    }
    String t = s.replaceAll("0+$", "");
    return t.endsWith(".") ? t.substring(0, t.length() - 1) : t;
  }

  /** The number in a field: {@code flag} is one of {@code - + 0}, a blank, or 0 for none. */
  static String padded(String number, char flag, int width, boolean isFinite) {
    String s = number;
    if ((flag == '+' || flag == ' ') && !s.startsWith("-")) {
      s = flag + s;
    }
    int missing = width - s.length();
    if (missing <= 0) {
      return s;
    }
    if (flag == '-') {
      return s + " ".repeat(missing);
    }
    if (flag == '0' && isFinite) {
      int sign = s.startsWith("-") ? 1 : 0;
      return s.substring(0, sign) + "0".repeat(missing) + s.substring(sign);
    }
    return " ".repeat(missing) + s;
  }
}
