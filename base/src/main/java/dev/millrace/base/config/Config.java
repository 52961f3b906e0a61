package dev.millrace.base.config;

import dev.millrace.base.Closest;
import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The values of all settings, and where each came from. A value given by the program or a flag wins
 * over a system property, that over an environment variable, that over the default.
 *
 * <p>Threading: immutable.
 */
public final class Config {
  /** Where a value came from. */
  public enum Source {
    DEFAULT("default"),
    PROPERTY("system property"),
    ENVIRONMENT("environment"),
    FLAG("flag"),
    PROGRAM("program");

    private final String text;

    Source(String text) {
      this.text = text;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  /**
   * A name that looks like a setting of ours and is none.
   *
   * @param name the property or variable
   * @param hint which known names are like it; empty if none is
   */
  public record Unknown(String name, String hint) {
    @Override
    public String toString() {
      return (name.startsWith(KnownSettings.PROPERTY_PREFIX)
              ? "System property "
              : "Environment variable ")
          + name
          + " is not a setting of Millrace and has no effect."
          + hint
          + " 'millrace config' lists all settings.";
    }
  }

  /**
   * A value that was given, and the name of the property, variable or flag that gave it.
   *
   * @param value null if the text has no value
   * @param problem what is wrong with the text, or null
   */
  private record Given(
      @Nullable Object value,
      @Nullable MillraceException problem,
      String text,
      Source source,
      String by) {}

  private final Map<Setting<?>, Given> given;
  private final Map<String, String> variables;
  private final List<Unknown> unknown;

  private Config(
      Map<Setting<?>, Given> given, Map<String, String> variables, List<Unknown> unknown) {
    this.given = given;
    this.variables = variables;
    this.unknown = unknown;
  }

  /** The settings of this process, from its system properties and environment variables. */
  public static Config ofProcess() {
    return of(
        ProcessEnvironment.properties(KnownSettings.PROPERTY_PREFIX),
        ProcessEnvironment.variables());
  }

  /** The defaults of all settings. */
  public static Config defaults() {
    return of(Map.of(), Map.of());
  }

  /**
   * Settings from other properties and variables than this process's own. A text that a setting
   * cannot have is reported by {@link #check}, and by the first read of that setting.
   */
  public static Config of(Map<String, String> properties, Map<String, String> variables) {
    Map<Setting<?>, Given> given = new HashMap<>();
    Map<String, String> read = new HashMap<>();
    for (Setting<?> s : KnownSettings.ALL) {
      Given g = find(s, properties, variables);
      if (g != null) {
        given.put(s, g);
      }
    }
    for (String name : KnownSettings.VARIABLES) {
      if (variables.containsKey(name)) {
        read.put(name, variables.get(name));
      }
    }
    return new Config(given, read, unknown(properties, variables));
  }

  private static @Nullable Given find(
      Setting<?> s, Map<String, String> properties, Map<String, String> variables) {
    if (s.hasProperty() && properties.containsKey(s.name())) {
      String place = "System property " + s.name();
      return given(s, properties.get(s.name()), place, Source.PROPERTY, "-D" + s.name());
    }
    List<String> names = new ArrayList<>(List.of(s.variable()));
    names.addAll(s.aliases());
    for (String name : names) {
      String text = variables.get(name);
      // A variable that is set to nothing is how scripts and manifests unset one.
      if (text != null && !text.isBlank()) {
        return given(s, text, "Environment variable " + name, Source.ENVIRONMENT, name);
      }
    }
    return null;
  }

  private static Given given(Setting<?> s, String text, String place, Source source, String by) {
    try {
      return new Given(s.kind.parser().apply(text), null, text, source, by);
    } catch (IllegalArgumentException e) {
      MillraceException problem =
          MillraceException.invalid(
              "%s is '%s'; it must be %s.", place, s.isSecret() ? "..." : text, s.kind.needed());
      return new Given(null, problem, text, source, by);
    }
  }

  private static List<Unknown> unknown(
      Map<String, String> properties, Map<String, String> variables) {
    List<Unknown> found = new ArrayList<>();
    for (String name : new TreeSet<>(properties.keySet())) {
      if (name.startsWith(KnownSettings.PROPERTY_PREFIX)
          && !KnownSettings.PROPERTIES.contains(name)) {
        found.add(new Unknown(name, Closest.hint(name, KnownSettings.PROPERTIES)));
      }
    }
    for (String name : new TreeSet<>(variables.keySet())) {
      if (name.startsWith(KnownSettings.VARIABLE_PREFIX)
          && !KnownSettings.VARIABLES.contains(name)) {
        found.add(new Unknown(name, Closest.hint(name, KnownSettings.VARIABLES)));
      }
    }
    return List.copyOf(found);
  }

  /** The same settings with another value for one of them, given by the program. */
  public <T> Config with(Setting<T> setting, T value) {
    String text = print(setting, value);
    return with(setting, new Given(value, null, text, Source.PROGRAM, "the program"));
  }

  /** The same settings with the text of a command line flag for one of them. */
  public Config withFlag(Setting<?> setting, String flag, String text) {
    return with(setting, given(setting, text, "The flag " + flag, Source.FLAG, flag));
  }

  private Config with(Setting<?> setting, Given value) {
    Map<Setting<?>, Given> all = new HashMap<>(given);
    all.put(setting, value);
    return new Config(all, variables, unknown);
  }

  /**
   * Fails if a setting was given a text it cannot have.
   *
   * @throws MillraceException INVALID_ARGUMENT, about the first such setting of the table
   */
  public void check() {
    List<MillraceException> problems = problems();
    if (!problems.isEmpty()) {
      throw problems.getFirst();
    }
  }

  /** What is wrong with the settings, in the order of the table. */
  public List<MillraceException> problems() {
    List<MillraceException> found = new ArrayList<>();
    for (Setting<?> s : KnownSettings.ALL) {
      Given g = given.get(s);
      if (g != null && g.problem != null) {
        found.add(g.problem);
      }
    }
    return found;
  }

  /** The value of a setting that has a default. */
  public <T> T get(Setting<T> setting) {
    return find(setting)
        .orElseThrow(() -> new IllegalArgumentException(setting + " has no default"));
  }

  /** The value of a setting; empty if none was given and it has no default. */
  @SuppressWarnings("unchecked") // The value was parsed by the setting's own kind.
  public <T> Optional<T> find(Setting<T> setting) {
    Given g = given.get(setting);
    if (g != null) {
      if (g.problem != null) {
        throw g.problem;
      }
      return Optional.ofNullable((T) g.value);
    }
    return setting.otherwise == null ? Optional.empty() : Optional.of(setting.otherwise.get());
  }

  /**
   * The text of a known environment variable, or of the property that is its twin; null if neither
   * is set. For variables that only make sense together, as a launcher's.
   */
  public @Nullable String variable(String name) {
    if (!KnownSettings.VARIABLES.contains(name)) {
      throw new IllegalArgumentException(name + " is not in the table of settings");
    }
    for (Map.Entry<Setting<?>, Given> e : given.entrySet()) {
      Given g = e.getValue();
      if (e.getKey().variable().equals(name) && g.source != Source.ENVIRONMENT) {
        return g.text;
      }
    }
    return variables.get(name);
  }

  /** Where the value of a setting came from. */
  public Source source(Setting<?> setting) {
    Given g = given.get(setting);
    return g == null ? Source.DEFAULT : g.source;
  }

  /** The property, variable or flag that gave the value; empty for a default. */
  public String givenBy(Setting<?> setting) {
    Given g = given.get(setting);
    return g == null ? "" : g.by;
  }

  /**
   * The value of a setting as text, in its unit: empty if it has none, dots for a secret, the text
   * as given if it is wrong.
   */
  public String text(Setting<?> setting) {
    Given g = given.get(setting);
    if (g != null && setting.isSecret()) {
      return "...";
    }
    if (g != null && g.problem != null) {
      return g.text;
    }
    return find(setting).map(v -> print(setting, v)).orElse("");
  }

  @SuppressWarnings("unchecked") // As above.
  private static <T> String print(Setting<T> setting, Object value) {
    return setting.kind.printer().apply((T) value);
  }

  /** Properties and variables that were probably meant to be settings. */
  public List<Unknown> unknown() {
    return unknown;
  }
}
