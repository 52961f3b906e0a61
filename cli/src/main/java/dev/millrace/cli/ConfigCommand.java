package dev.millrace.cli;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.KnownSettings;
import dev.millrace.base.config.Setting;
import dev.millrace.cli.cluster.ClusterFlags;
import dev.millrace.cli.text.CommandOutput;
import dev.millrace.cli.text.ErrorPrinter;
import dev.millrace.cli.text.Table;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Lists every setting of this process with its value and where it came from. */
@Command(
    name = "config",
    description = "List all settings with their values, and where each came from.",
    footer = {
      "",
      "A flag wins over a system property, that over an environment variable, that over the",
      "default. MILLRACE_JAVA_OPTS passes system properties to the command. Ends with code 2 if a",
      "setting has a value it cannot have.",
      "",
      "Examples:",
      "  millrace config",
      "  millrace config --set",
      "  millrace config --json",
    })
final class ConfigCommand implements Callable<Integer> {
  @Mixin CommandOutput report;
  @Mixin ClusterFlags cluster;

  /** The settings of this process. */
  Config process = Config.ofProcess();

  @Option(names = "--set", description = "List only settings that differ from their defaults.")
  boolean onlySet;

  @Option(
      names = "--markdown",
      description = "Print the table of all settings and their defaults as docs/settings.md.")
  boolean markdown;

  @Override
  public Integer call() {
    if (markdown) {
      report.out().print(SettingsPage.text());
      return 0;
    }
    Config config = cluster.in(process);
    List<Setting<?>> shown =
        KnownSettings.ALL.stream()
            .filter(s -> !onlySet || config.source(s) != Config.Source.DEFAULT)
            .toList();
    if (report.json) {
      report.json(facts(config, shown));
    } else {
      print(config, shown);
    }
    return config.problems().isEmpty() ? 0 : ErrorPrinter.WRONG_USE;
  }

  private void print(Config config, List<Setting<?>> shown) {
    Table table = new Table("setting", "value", "unit", "source", "given by");
    for (Setting<?> s : shown) {
      table.row(s.name(), config.text(s), s.unit(), config.source(s), config.givenBy(s));
    }
    table.print(report.out());
    config.problems().forEach(p -> report.out().println(p.getMessage()));
    config.unknown().forEach(u -> report.out().println(u));
  }

  private static Map<String, Object> facts(Config config, List<Setting<?>> shown) {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("settings", shown.stream().map(s -> facts(config, s)).toList());
    all.put("problems", config.problems().stream().map(MillraceException::getMessage).toList());
    all.put("unknown", config.unknown().stream().map(Config.Unknown::toString).toList());
    return all;
  }

  private static Map<String, Object> facts(Config config, Setting<?> s) {
    Map<String, Object> f = new LinkedHashMap<>();
    f.put("name", s.name());
    f.put("variable", s.variable());
    f.put("value", config.text(s));
    f.put("unit", s.unit());
    f.put("source", config.source(s).toString());
    f.put("givenBy", config.givenBy(s));
    f.put("default", s.defaultText());
    f.put("meaning", s.meaning());
    return f;
  }
}
