package dev.millrace.base.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The table of all settings: system properties {@code millrace.*} with their environment twins, and
 * the variables of other programs that are read. {@code millrace config} lists it with the values
 * of a process, {@code docs/settings.md} with the defaults.
 */
public final class KnownSettings {
  static final String PROPERTY_PREFIX = "millrace.";
  static final String VARIABLE_PREFIX = "MILLRACE_";

  /** All settings, in the order in which they are listed. */
  public static final List<Setting<?>> ALL = all();

  /** The names of all system properties. */
  static final Set<String> PROPERTIES = properties();

  /** The names of all environment variables. */
  static final Set<String> VARIABLES = variables();

  private KnownSettings() {}

  private static List<Setting<?>> all() {
    List<Setting<?>> all = new ArrayList<>();
    all.addAll(ComputeSettings.ALL);
    all.addAll(ClusterSettings.ALL);
    all.addAll(CallerLimits.ALL);
    all.addAll(RankSettings.ALL);
    all.addAll(CommandSettings.ALL);
    all.addAll(TestSettings.ALL);
    all.addAll(ForeignVariables.ALL);
    return List.copyOf(all);
  }

  private static Set<String> properties() {
    Set<String> names = new TreeSet<>();
    ALL.stream().filter(Setting::hasProperty).forEach(s -> names.add(s.name()));
    return Set.copyOf(names);
  }

  private static Set<String> variables() {
    Set<String> names = new TreeSet<>(ForeignVariables.LAUNCHERS);
    for (Setting<?> s : ALL) {
      names.add(s.variable());
      names.addAll(s.aliases());
    }
    return Set.copyOf(names);
  }
}
