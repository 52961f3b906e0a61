package dev.millrace.cli;

import dev.millrace.base.config.ForeignVariables;
import dev.millrace.base.config.KnownSettings;
import dev.millrace.base.config.Setting;
import java.util.List;

/** The page of the documentation about settings, made from their table. */
final class SettingsPage {
  private SettingsPage() {}

  /** The page in Markdown, the same on every machine. */
  static String text() {
    StringBuilder page =
        new StringBuilder(
            """
            # Settings

            `./millrace config` lists every setting with its value on this machine and where the value came from;
            `--json` prints the same for programs. This page is made by `./millrace config --markdown`.

            A setting `millrace.a.b` is a system property (`-Dmillrace.a.b=VALUE`, passed to `./millrace` by
            `MILLRACE_JAVA_OPTS`) and an environment variable `MILLRACE_A_B`. The property wins over the variable, a flag of
            the command over both. A value that a setting cannot have is refused when the process starts. A property or
            variable that looks like a setting and is none causes one warning that names the nearest known one. Byte counts
            may end in `k`, `m` or `g`.
            """);
    for (Setting.Group group : Setting.Group.values()) {
      List<Setting<?>> members =
          KnownSettings.ALL.stream().filter(s -> s.group() == group).toList();
      page.append("\n## ").append(group.title()).append("\n\n");
      page.append("| setting | unit | default | meaning |\n| --- | --- | --- | --- |\n");
      for (Setting<?> s : members) {
        page.append(
            "| `%s` | %s | %s | %s%s |\n"
                .formatted(s.name(), s.unit(), s.defaultText(), s.meaning(), also(s)));
      }
    }
    page.append("\nA rank also takes its place in a job from the variables of its launcher:\n\n");
    ForeignVariables.LAUNCHERS.forEach(v -> page.append("- `").append(v).append("`\n"));
    return page.toString();
  }

  private static String also(Setting<?> s) {
    return s.aliases().isEmpty() ? "" : " Also `" + String.join("`, `", s.aliases()) + "`.";
  }
}
