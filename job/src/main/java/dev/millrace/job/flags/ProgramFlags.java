package dev.millrace.job.flags;

import dev.millrace.base.Closest;
import dev.millrace.base.MillraceException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The flags of a program and their values, those of every job and the program's own. A name may be
 * written with {@code -} or {@code _}, a value after a space or {@code =}.
 *
 * <p>Threading: immutable.
 */
public final class ProgramFlags {
  private final Map<String, Flag> known;
  private final Map<String, Object> given;

  private ProgramFlags(Map<String, Flag> known, Map<String, Object> given) {
    this.known = known;
    this.given = given;
  }

  /** What {@code args} say of the flags {@code known}. */
  public static ProgramFlags parse(List<Flag> known, String... args) {
    Map<String, Flag> byName = new LinkedHashMap<>();
    known.forEach(
        f -> {
          if (byName.put(f.name(), f) != null) {
            throw MillraceException.invalid(
                "There are two flags --%s: every job has one. Choose another name.", f.name());
          }
        });
    Map<String, Object> given = new HashMap<>();
    for (int i = 0; i < args.length; i++) {
      if (!args[i].startsWith("--")) {
        throw MillraceException.invalid("'%s' is not a flag: flags begin with --.", args[i]);
      }
      int equals = args[i].indexOf('=');
      String word = equals < 0 ? args[i] : args[i].substring(0, equals);
      Flag flag = byName.get(word.substring(2).replace('_', '-'));
      if (flag == null) {
        List<String> names = new ArrayList<>();
        byName.keySet().forEach(n -> names.add("--" + n));
        throw MillraceException.invalid(
            "There is no flag '%s'.%s", word, Closest.hint(word, names));
      }
      boolean next = i + 1 < args.length;
      String text;
      if (equals >= 0) {
        text = args[i].substring(equals + 1);
      } else if (flag.type() == Boolean.class) {
        text = next && args[i + 1].matches("true|false") ? args[++i] : "true";
      } else if (next) {
        text = args[++i];
      } else {
        throw MillraceException.invalid("%s needs a value after it.", word);
      }
      given.put(flag.name(), flag.parse(text));
    }
    return new ProgramFlags(byName, given);
  }

  /** Whether the flag was given, rather than having its usual value. */
  public boolean isGiven(String name) {
    find(name);
    return given.containsKey(name);
  }

  private Flag find(String name) {
    Flag flag = known.get(name);
    if (flag == null) {
      throw MillraceException.invalid(
          "The program asks for a flag '%s' that it has not declared: add it with Job.flag.%s",
          name, Closest.hint(name, known.keySet()));
    }
    return flag;
  }

  /** The value of {@code name} as a {@code type}; null if it has none. */
  private <T> T get(String name, Class<T> type) {
    Flag flag = find(name);
    if (flag.type() != type) {
      throw MillraceException.invalid(
          "The program reads flag '%s' as a %s; it was declared with a %s.",
          name, type.getSimpleName(), flag.type().getSimpleName());
    }
    return type.cast(given.getOrDefault(name, flag.standard()));
  }

  /** The value of a flag that is an int. */
  public Integer integer(String name) {
    return get(name, Integer.class);
  }

  /** The value of a flag that is a long. */
  public Long longInteger(String name) {
    return get(name, Long.class);
  }

  /** The value of a flag that is a double. */
  public Double number(String name) {
    return get(name, Double.class);
  }

  /** The value of a flag that is text. */
  public String text(String name) {
    return get(name, String.class);
  }

  /** The value of a flag that is a path. */
  public Path path(String name) {
    return get(name, Path.class);
  }

  /** The value of a flag that is one of the constants of an enum. */
  public <E extends Enum<E>> E choice(String name, Class<E> type) {
    return get(name, type);
  }

  /** Whether a flag that is a boolean is on. */
  public boolean isOn(String name) {
    return get(name, Boolean.class);
  }

  /** One line for every flag of {@code known}. */
  public static String usage(List<Flag> known) {
    StringBuilder text = new StringBuilder();
    known.forEach(f -> text.append(f.usage()).append('\n'));
    return text.toString();
  }
}
