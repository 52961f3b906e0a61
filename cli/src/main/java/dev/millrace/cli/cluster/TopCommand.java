package dev.millrace.cli.cluster;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.steps.Figure;
import dev.millrace.base.steps.Phase;
import dev.millrace.cli.text.Amount;
import dev.millrace.cli.text.CommandOutput;
import dev.millrace.cli.text.ErrorPrinter;
import dev.millrace.cli.text.Table;
import dev.millrace.cli.text.Terminal;
import dev.millrace.dashboard.verdict.JobVerdict;
import dev.millrace.dashboard.verdict.TaskFigures;
import dev.millrace.dashboard.watch.JobLog;
import dev.millrace.dashboard.watch.JobSnapshot;
import dev.millrace.dashboard.watch.JobWatch;
import dev.millrace.dashboard.watch.TaskState;
import dev.millrace.dashboard.web.JobJson;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Shows in the terminal where the time of every task goes, again and again. */
@Command(
    name = "top",
    description = "Show where the time of every task goes, and what slows the job.",
    footer = {
      "",
      "The columns from 'input' to 'other' are milliseconds of a step, or of a part of other"
          + " tasks'",
      "steps in the column 'part'. Ends with Ctrl-C; the job goes on.",
      "",
      "Examples:",
      "  millrace top --ps_hosts host0:2222 --worker_hosts host1:2222,host2:2222",
      "  millrace top --cluster local=localhost:2222 --count 1 --json",
    })
public final class TopCommand implements Callable<Integer> {
  private static final int WINDOW = 6;
  private static final String CLEAR = "\033[H\033[J";

  @Mixin CommandOutput report;
  @Mixin ClusterFlags cluster;
  @Mixin SecurityFlags security;

  @Option(
      names = "--interval",
      paramLabel = "SECONDS",
      description = "How often to look. Default: ${DEFAULT-VALUE}")
  int intervalSeconds = 2;

  @Option(
      names = "--count",
      paramLabel = "N",
      description = "How many looks; 0 for as long as it runs. Default: ${DEFAULT-VALUE}")
  int count;

  @Override
  public Integer call() throws InterruptedException {
    return security.context("top").<Integer, InterruptedException>call(this::show);
  }

  private int show() throws InterruptedException {
    if (intervalSeconds < 1 || count < 0) {
      throw MillraceException.invalid(
          "--interval is %d and --count %d; they must be at least 1 and 0.",
          intervalSeconds, count);
    }
    JobLog log = new JobLog();
    try (JobWatch watch = new JobWatch(cluster.cluster(), log, Duration.ZERO, _ -> {})) {
      JobSnapshot state = JobSnapshot.NOTHING;
      for (int i = 0; count == 0 || i < count; i++) {
        Timers.system().sleep(Duration.ofSeconds(intervalSeconds));
        state = watch.state();
        if (report.json) {
          report.json(JobJson.job(state, watch.blamed(), log));
        } else {
          print(state);
        }
      }
      return state.tasks().stream().allMatch(t -> t.figures().isUp()) ? 0 : ErrorPrinter.FAILURE;
    }
  }

  private void print(JobSnapshot state) {
    StringWriter text = new StringWriter();
    PrintWriter out = new PrintWriter(text);
    List<String> heads = new ArrayList<>(List.of("task", "state", "steps/s"));
    Phase.ALL.forEach(p -> heads.add(p.label()));
    heads.addAll(List.of("part", "queue", "cpu", "gc", "memory"));
    Table table = new Table(heads.toArray(String[]::new));
    long second = Math.floorDiv(state.epochMillis(), 1000L);
    for (TaskState t : state.tasks()) {
      table.row(row(t, t.figures().span(second - WINDOW, second - 1)));
    }
    table.print(out);
    out.println(state.verdict().sentence());
    state.verdict().evidence().forEach(e -> out.println("  " + e));
    out.flush();
    report.out().print((Terminal.isThere() ? CLEAR : "") + text);
    report.out().flush();
  }

  private static Object[] row(TaskState t, TaskFigures.Span now) {
    List<Object> cells = new ArrayList<>();
    cells.add(t.name());
    cells.add(t.figures().isUp() ? t.facts() == null ? "up" : state(t) : "no answer");
    boolean trains = now.steps() > 0;
    cells.add(trains ? number(now.perSecond(Figure.STEPS)) : "-");
    for (Phase p : Phase.ALL) {
      cells.add(trains ? number(now.millis(p)) : "-");
    }
    boolean known = t.facts() != null && now.count() > 0;
    cells.add(now.get(Figure.PARTS) > 0 ? number(now.partMillis()) : "-");
    cells.add(known ? number(now.get(Figure.QUEUE) / now.count()) : "-");
    cells.add(known ? number(now.share(Figure.CPU)) : "-");
    cells.add(known ? Math.round(100 * now.share(Figure.GC)) + " %" : "-");
    cells.add(t.facts() == null ? "-" : Amount.bytes(t.facts().getResidentBytes()));
    return cells.toArray();
  }

  private static String state(TaskState t) {
    return t.figures().phase().isEmpty() ? "up" : t.figures().phase();
  }

  private static String number(double v) {
    return String.format(Locale.ROOT, v >= 100 ? "%.0f" : "%.1f", v);
  }

  /** The words of a verdict, for commands that show one. */
  static String words(JobVerdict v) {
    return "verdict: " + v.sentence();
  }
}
