package dev.millrace.base.config;

import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One setting: its names, its kind, its default and what it does. A setting called {@code
 * millrace.a.b} is a system property of that name and an environment variable {@code MILLRACE_A_B};
 * the property wins. Settings that other programs define have an environment variable only.
 *
 * <p>Threading: immutable.
 *
 * @param <T> the type of its value
 */
public final class Setting<T> {
  /** What a setting is about: a section of the list. */
  public enum Group {
    COMPUTE("Computing"),
    CLUSTER("Tasks of a cluster"),
    LIMITS("Limits on what callers of a server may use"),
    RING("Ranks of a ring"),
    COMMAND("The command and its scripts"),
    TESTS("Tests and benchmarks"),
    FOREIGN("Variables of other programs");

    private final String title;

    Group(String title) {
      this.title = title;
    }

    /** The heading of the section. */
    public String title() {
      return title;
    }
  }

  final Group group;
  final String name;
  final SettingKind<T> kind;
  final String meaning;
  final List<String> aliases;

  /** The default, which may depend on the machine; null if there is none. */
  final @Nullable Supplier<T> otherwise;

  private final String otherwiseText;
  private final boolean secret;

  private Setting(
      Group group,
      String name,
      SettingKind<T> kind,
      @Nullable Supplier<T> otherwise,
      String otherwiseText,
      String meaning,
      List<String> aliases,
      boolean secret) {
    this.group = group;
    this.name = name;
    this.kind = kind;
    this.otherwise = otherwise;
    this.otherwiseText = otherwiseText;
    this.meaning = meaning;
    this.aliases = List.copyOf(aliases);
    this.secret = secret;
  }

  /** A setting with a default that is the same everywhere. */
  static <T> Setting<T> of(
      Group group, String name, SettingKind<T> kind, T otherwise, String meaning) {
    return new Setting<>(
        group,
        name,
        kind,
        () -> otherwise,
        kind.printer().apply(otherwise),
        meaning,
        List.of(),
        false);
  }

  /** A setting without a default. */
  static <T> Setting<T> optional(Group group, String name, SettingKind<T> kind, String meaning) {
    return new Setting<>(group, name, kind, null, "", meaning, List.of(), false);
  }

  /** The same setting with a default that depends on the machine, and the words for it. */
  Setting<T> otherwise(Supplier<T> value, String text) {
    return new Setting<>(group, name, kind, value, text, meaning, aliases, secret);
  }

  /** The same setting, also taken from these environment variables if it is not set itself. */
  Setting<T> alsoFrom(String... variables) {
    return new Setting<>(
        group, name, kind, otherwise, otherwiseText, meaning, List.of(variables), secret);
  }

  /** The same setting with a value that is never shown. */
  Setting<T> secret() {
    return new Setting<>(group, name, kind, otherwise, otherwiseText, meaning, aliases, true);
  }

  /** What it is about. */
  public Group group() {
    return group;
  }

  /** Its name: that of its system property, or of its variable if it has no property. */
  public String name() {
    return name;
  }

  /** Whether a system property sets it. */
  public boolean hasProperty() {
    return name.startsWith(KnownSettings.PROPERTY_PREFIX);
  }

  /** The environment variable that sets it. */
  public String variable() {
    return hasProperty() ? name.replace('.', '_').toUpperCase(Locale.ROOT) : name;
  }

  /** Environment variables of other programs that set it too. */
  public List<String> aliases() {
    return aliases;
  }

  /** The unit of its value; empty if it has none. */
  public String unit() {
    return kind.unit();
  }

  /** Its default in words that hold for every machine; empty if it has none. */
  public String defaultText() {
    return otherwiseText;
  }

  /** What it does. */
  public String meaning() {
    return meaning;
  }

  /** Whether its value must not be shown. */
  public boolean isSecret() {
    return secret;
  }

  @Override
  public String toString() {
    return name;
  }
}
