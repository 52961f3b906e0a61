package dev.millrace.base.config;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * What kind of value a setting takes: how its text is read, how the value is shown, and the
 * sentence that says what is needed.
 *
 * @param <T> the type of the value
 * @param unit the unit of a plain number, such as {@code ms}; empty if there is none
 * @param needed completes "it must be ..."
 * @param parser turns text into a value; throws IllegalArgumentException if it cannot
 * @param printer turns a value back into text that {@code parser} accepts
 */
record SettingKind<T>(
    String unit, String needed, Function<String, T> parser, Function<T, String> printer) {
  /** How long a setting of 0 lasts where 0 means never. */
  private static final Duration NEVER = Duration.ofDays(365);

  static final SettingKind<String> TEXT =
      new SettingKind<>("", "text", Function.identity(), Function.identity());

  static final SettingKind<Path> PATH =
      new SettingKind<>("", "a path", SettingKind::path, Path::toString);

  static final SettingKind<Boolean> BOOLEAN =
      new SettingKind<>("", "true or false", SettingKind::bool, String::valueOf);

  static SettingKind<Integer> integer(String unit, int least) {
    return new SettingKind<>(
        unit,
        "a whole number, " + least + " or more",
        text -> (int) wholeNumber(text, least, Integer.MAX_VALUE),
        String::valueOf);
  }

  static SettingKind<Long> longNumber() {
    return new SettingKind<>("", "a whole number", t -> Long.valueOf(t.strip()), String::valueOf);
  }

  static SettingKind<Long> bytes() {
    return new SettingKind<>(
        "bytes",
        "a number of bytes, 0 or more, such as 65536, 64k or 2g",
        SettingKind::byteCount,
        String::valueOf);
  }

  /** A time in {@code unit}; fractions of it are allowed. */
  static SettingKind<Duration> time(ChronoUnit unit) {
    return new SettingKind<>(
        symbol(unit),
        "a number of " + unit.toString().toLowerCase(Locale.ROOT) + ", 0 or more",
        text -> duration(text, unit),
        d -> number(d, unit));
  }

  /** The same, where 0 means that the time never ends. */
  static SettingKind<Duration> timeOrNever(ChronoUnit unit) {
    SettingKind<Duration> t = time(unit);
    return new SettingKind<>(
        t.unit,
        t.needed + " (0 means never)",
        text -> {
          Duration d = t.parser.apply(text);
          return d.isZero() ? NEVER : d;
        },
        d -> d.equals(NEVER) ? "0" : t.printer.apply(d));
  }

  /** One of a few words, in any case. */
  static SettingKind<String> oneOf(String... words) {
    List<String> all = List.of(words);
    return new SettingKind<>(
        "",
        "one of " + all.stream().collect(Collectors.joining(", ")),
        text -> {
          String word = text.strip().toLowerCase(Locale.ROOT);
          if (!all.contains(word)) {
            throw new IllegalArgumentException(text);
          }
          return word;
        },
        Function.identity());
  }

  private static Path path(String text) {
    try {
      return Path.of(text);
    } catch (InvalidPathException e) {
      throw new IllegalArgumentException(e);
    }
  }

  private static boolean bool(String text) {
    return switch (text.strip().toLowerCase(Locale.ROOT)) {
      case "true", "1" -> true;
      case "false", "0" -> false;
      default -> throw new IllegalArgumentException(text);
    };
  }

  private static long wholeNumber(String text, long least, long most) {
    long n = Long.parseLong(text.strip());
    if (n < least || n > most) {
      throw new IllegalArgumentException(text);
    }
    return n;
  }

  private static long byteCount(String text) {
    String t = text.strip().toLowerCase(Locale.ROOT);
    int shift = t.endsWith("k") ? 10 : t.endsWith("m") ? 20 : t.endsWith("g") ? 30 : 0;
    String digits = shift == 0 ? t : t.substring(0, t.length() - 1);
    return wholeNumber(digits, 0, Long.MAX_VALUE >> shift) << shift;
  }

  private static Duration duration(String text, ChronoUnit unit) {
    double n = Double.parseDouble(text.strip());
    double nanos = n * unit.getDuration().toNanos();
    // Longer than this, a sum with the present time would overflow.
    if (!(n >= 0) || nanos > Long.MAX_VALUE / 4.0) {
      throw new IllegalArgumentException(text);
    }
    return Duration.ofNanos((long) nanos);
  }

  private static String number(Duration d, ChronoUnit unit) {
    double n = (double) d.toNanos() / unit.getDuration().toNanos();
    return n == Math.rint(n) ? Long.toString((long) n) : Double.toString(n);
  }

  private static String symbol(ChronoUnit unit) {
    return switch (unit) {
      case MILLIS -> "ms";
      case SECONDS -> "s";
      case MINUTES -> "min";
      default -> throw new IllegalArgumentException("no symbol for " + unit);
    };
  }
}
