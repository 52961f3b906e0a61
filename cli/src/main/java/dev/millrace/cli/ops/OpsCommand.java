package dev.millrace.cli.ops;

import dev.millrace.cli.text.CommandOutput;
import dev.millrace.cli.text.Table;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Lists the ops of Millrace beside those of a version of TensorFlow. */
@Command(
    name = "ops",
    description =
        "List TensorFlow's ops that are here, with types and gradients, and those missing.",
    footer = {
      "",
      "Examples:",
      "  millrace ops",
      "  millrace ops sparse",
      "  millrace ops --missing --tensorflow 1.15",
    })
public final class OpsCommand implements Callable<Integer> {
  @Mixin CommandOutput report;

  @Parameters(
      paramLabel = "TEXT",
      arity = "0..1",
      defaultValue = "",
      description = "List only ops whose name has this text, in any case.")
  String text;

  @Option(
      names = "--tensorflow",
      paramLabel = "VERSION",
      defaultValue = "2.21",
      description = "Compare with this version: 1.15 or 2.21 (default: ${DEFAULT-VALUE}).")
  String version;

  @Option(names = "--missing", description = "List the ops of TensorFlow that are not here.")
  boolean missing;

  @Option(names = "--markdown", description = "Print the page docs/ops.md.")
  boolean markdown;

  @Override
  public Integer call() {
    Set<String> theirs = OpList.of(version);
    if (markdown) {
      report.out().print(OpsPage.markdown());
      report.out().flush();
      return 0;
    }
    Map<String, OpFacts> ours = OpFacts.all();
    long here = theirs.stream().filter(ours::containsKey).count();
    Set<String> without = new TreeSet<>(theirs);
    without.removeAll(ours.keySet());
    without.removeIf(name -> !matches(name));
    List<OpFacts> shown = ours.values().stream().filter(op -> matches(op.name())).toList();
    if (report.json) {
      Map<String, Object> all = new LinkedHashMap<>();
      all.put("tensorflow", version);
      all.put("opsOfTensorFlow", theirs.size());
      all.put("ofTheseHere", here);
      all.put("ops", shown.stream().map(op -> facts(op, theirs)).toList());
      all.put("missing", List.copyOf(without));
      report.json(all);
      return 0;
    }
    if (missing) {
      without.forEach(report.out()::println);
    } else {
      Table table = new Table("op", "types", "gradient", "in TensorFlow " + version);
      shown.forEach(
          op ->
              table.row(
                  op.name(), op.types(), op.gradient(), theirs.contains(op.name()) ? "yes" : "no"));
      table.print(report.out());
    }
    report
        .out()
        .printf(
            Locale.ROOT,
            "Millrace has %d of the %d ops of TensorFlow %s, and %d others.%n",
            here,
            theirs.size(),
            version,
            ours.size() - here);
    return 0;
  }

  private boolean matches(String name) {
    return name.toLowerCase(Locale.ROOT).contains(text.toLowerCase(Locale.ROOT));
  }

  private static Map<String, Object> facts(OpFacts op, Set<String> theirs) {
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("op", op.name());
    facts.put("types", op.types());
    facts.put("gradient", op.gradient());
    facts.put("inTensorFlow", theirs.contains(op.name()));
    return facts;
  }
}
