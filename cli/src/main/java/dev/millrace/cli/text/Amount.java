package dev.millrace.cli.text;

import java.time.Duration;
import java.util.Locale;

/** Amounts as people read them. */
public final class Amount {
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

  private Amount() {}

  /** A number of bytes with three digits and a unit: {@code 1.53 MiB}. */
  public static String bytes(long n) {
    double v = n;
    int unit = 0;
    while (v >= 1024 && unit < UNITS.length - 1) {
      v /= 1024;
      unit++;
    }
    int digits = unit == 0 || v >= 100 ? 0 : v >= 10 ? 1 : 2;
    return String.format(Locale.ROOT, "%." + digits + "f %s", v, UNITS[unit]);
  }

  /** A duration in its largest units: {@code 3 h 20 min}, {@code 45 s}. */
  public static String time(Duration d) {
    long s = Math.max(0, d.toSeconds());
    if (s < 60) {
      return s + " s";
    }
    if (s < 3600) {
      return s / 60 + " min" + (s % 60 == 0 ? "" : " " + s % 60 + " s");
    }
    return s / 3600 + " h" + (s % 3600 / 60 == 0 ? "" : " " + s % 3600 / 60 + " min");
  }

  /** A number with as many digits as tell something: {@code 0.0312}, {@code 1250}. */
  public static String number(double v) {
    if (v == Math.rint(v) && Math.abs(v) < 1e7) {
      return Long.toString((long) v);
    }
    double size = Math.abs(v);
    return size >= 1e5 || size < 1e-3
        ? String.format(Locale.ROOT, "%.3e", v)
        : String.format(Locale.ROOT, "%." + (size >= 100 ? 1 : size >= 1 ? 3 : 4) + "f", v);
  }
}
