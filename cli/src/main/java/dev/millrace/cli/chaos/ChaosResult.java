package dev.millrace.cli.chaos;

import dev.millrace.cli.text.Table;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What came of a run.
 *
 * @param recoveries nanoseconds from when a killed server was back to the next acknowledged update
 * @param hung what did not go on, or null
 */
record ChaosResult(
    ChaosSettings settings,
    Map<String, Integer> kills,
    int pauses,
    List<Long> recoveries,
    String hung,
    Verdict verdict) {
  /** Whether nothing was lost, doubled or hung, and nothing else was found. */
  boolean isGood() {
    return hung == null && verdict.findings().isEmpty();
  }

  /** The recovery that {@code part} of all are not longer than, in seconds. */
  private double recovery(double part) {
    if (recoveries.isEmpty()) {
      return 0;
    }
    List<Long> sorted = recoveries.stream().sorted().toList();
    int i = (int) Math.ceil(part * sorted.size()) - 1;
    return sorted.get(Math.clamp(i, 0, sorted.size() - 1)) / 1e9;
  }

  /** All of it, for programs. */
  Map<String, Object> json() {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("mode", settings.mode().toString());
    all.put("durability", settings.durability().toString());
    all.put("ps", settings.ps());
    all.put("workers", settings.workers());
    all.put("seed", settings.seed());
    all.put("kills", kills);
    all.put("pauses", pauses);
    all.put("updates_acknowledged", verdict.updates());
    all.put("updates_abandoned", verdict.abandoned());
    all.put("global_step", verdict.globalStep());
    all.put("lost", verdict.lost());
    all.put("doubled", verdict.doubled());
    all.put("hung", hung == null ? 0 : 1);
    all.put("recovery_seconds_median", recovery(0.5));
    all.put("recovery_seconds_max", recovery(1));
    all.put("findings", verdict.findings());
    return all;
  }

  void print(PrintWriter out) {
    Table table = new Table("what", "count");
    kills.forEach((role, n) -> table.row("kills of the " + role, n));
    table.row("pauses", pauses);
    table.row("updates acknowledged", verdict.updates());
    table.row("updates of killed workers, there or not", verdict.abandoned());
    table.row("acknowledged and lost", number(verdict.lost()));
    table.row("counted twice", number(verdict.doubled()));
    table.row("hung", hung == null ? 0 : 1);
    table.row("median from server back to next step", seconds(recovery(0.5)));
    table.row("longest", seconds(recovery(1)));
    table.print(out);
    if (hung != null) {
      out.println(hung);
    }
    verdict.findings().forEach(out::println);
    out.printf("seed %d%n", settings.seed());
    out.flush();
  }

  private static String seconds(double s) {
    return String.format(Locale.ROOT, "%.2f s", s);
  }

  private static String number(double n) {
    return String.format(Locale.ROOT, n == Math.rint(n) ? "%.0f" : "%.2f", n);
  }
}
