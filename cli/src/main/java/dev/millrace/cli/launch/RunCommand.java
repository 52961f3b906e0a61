package dev.millrace.cli.launch;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.CommandSettings;
import dev.millrace.cli.text.Terminal;
import dev.millrace.job.Mode;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Starts a user's program as all tasks of a job, and supervises them. */
@Command(
    name = "run",
    description = "Run your program as the tasks of one job, and start again those that die.",
    footer = {
      "",
      "After -- come the arguments of java, if the first begins with '-', else a program and its",
      "arguments. Each task gets its role in TF_CONFIG, or in MILLRACE_RANK in ring mode, and the",
      "mode in MILLRACE_MODE. What worker 0 or rank 0 prints is shown; logs have the rest.",
      "",
      "Examples:",
      "  millrace run --mode async --ps 2 --workers 3 -- -cp app.jar com.acme.Ctr --epochs 2",
      "  millrace run --mode ring --workers 4 --hosts host1:2,host2:2 -- -jar app.jar",
      "  millrace run --mode sync --evaluator -- ./train.sh",
    })
public final class RunCommand implements Callable<Integer> {
  @CommandLine.Spec CommandLine.Model.CommandSpec spec;

  @Option(
      names = "--mode",
      description = "How tasks train together: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}")
  Mode mode = Mode.ASYNC;

  @Option(names = "--ps", paramLabel = "N", description = "How many parameter servers. Default: 1")
  Integer ps;

  @Option(
      names = "--workers",
      paramLabel = "N",
      description =
          "How many workers, or ranks in ring mode. Default: what the slots of --hosts leave,"
              + " else 2")
  Integer workers;

  @Option(names = "--evaluator", description = "Also start a task that evaluates checkpoints.")
  boolean evaluator;

  @Option(
      names = {"--max-restarts", "--max_restarts"},
      paramLabel = "N",
      description =
          "How often a task that dies starts again; in ring mode, all of them. Default:"
              + " ${DEFAULT-VALUE}")
  int maxRestarts = RestartPolicy.DEFAULT_LIMIT;

  @Option(
      names = "--durability",
      paramLabel = "WHAT",
      description =
          "What the state of parameter servers outlives: 'process' keeps it in files beside the"
              + " logs, so that one that is killed goes on where it was; 'memory' does not. For"
              + " programs of Millrace. Default: process if all tasks are on this machine, else"
              + " memory")
  Durability durability;

  @Option(
      names = "--port",
      paramLabel = "N",
      description =
          "The first port of the tasks on each host, if there are several. Default:"
              + " ${DEFAULT-VALUE}")
  int port = 2222;

  @Option(
      names = "--logs",
      paramLabel = "FOLDER",
      description = "Where the log of each task goes; a new folder in millrace-logs if not given.")
  Path logs;

  @Option(names = "--show-all", description = "Show every line of every task.")
  boolean showAll;

  /** What the state of a parameter server outlives. */
  enum Durability {
    MEMORY,
    PROCESS;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  @Mixin HostFlags hosts;
  @Mixin JobCredentials credentials;

  @Mixin DashboardFlags page;

  @Parameters(arity = "1..*", paramLabel = "COMMAND", description = "The program, after --.")
  List<String> command;

  @Override
  public Integer call() throws Exception {
    check();
    RestartPolicy policy = RestartPolicy.ofProgram(maxRestarts, mode == Mode.RING);
    List<String> program = Program.of(command);
    int servers = mode.hasServers() ? ps == null ? 1 : ps : 0;
    int training = training(servers);
    List<HostSlots.Slot> slots = slots(servers + training + (evaluator ? 1 : 0));
    Path folder = logs != null ? logs : JobDisplay.newFolder("run");
    CommandLine line = spec.commandLine();
    JobDisplay display =
        new JobDisplay(line.getOut(), line.getErr(), showAll, Terminal.hasColours(), folder);
    JobPlan plan = plan(slots, servers, training, program, folder);
    try (SupervisedJob job = new SupervisedJob(plan, policy, hosts.sshCommand(), display);
        JobObserver observer =
            credentials.client("run").call(() -> JobObserver.of(plan, page, display, folder))) {
      line.getOut().printf("Running %s. The logs are in %s.%n", shape(servers, training), folder);
      line.getOut().flush();
      observer.announce(line.getOut());
      JobOutcome outcome = job.run();
      observer.summarize(line.getOut());
      outcome.check(folder);
    }
    return 0;
  }

  private void check() {
    if (!mode.hasServers() && durability != null) {
      throw MillraceException.invalid(
          "--mode %s has no parameter servers: leave out --durability.", mode);
    }
    if (!mode.hasServers() && (ps != null || evaluator)) {
      throw MillraceException.invalid(
          "--mode %s has no %s: leave out %s.",
          mode,
          ps != null ? "parameter servers" : "evaluator",
          ps != null ? "--ps" : "--evaluator");
    }
    if (mode == Mode.LOCAL && workers != null) {
      throw MillraceException.invalid(
          "--mode local is one process: leave out --workers, or use another mode.");
    }
    if (ps != null && ps < 1) {
      throw MillraceException.invalid("--ps is %d; it must be at least 1.", ps);
    }
  }

  /** How many processes train. */
  private int training(int servers) {
    int n =
        mode == Mode.LOCAL
            ? 1
            : workers != null
                ? workers
                : hosts.given() ? hosts.slots() - servers - (evaluator ? 1 : 0) : 2;
    if (n < 1) {
      throw MillraceException.invalid(
          "--workers is %d; it must be at least 1%s.",
          n, workers == null ? ", and the slots of --hosts leave none" : "");
    }
    return n;
  }

  private List<HostSlots.Slot> slots(int tasks) {
    return HostSlots.assign(hosts.hosts(tasks), tasks, "tasks");
  }

  private JobPlan plan(
      List<HostSlots.Slot> slots, int servers, int training, List<String> program, Path folder) {
    Map<String, String> exported = new LinkedHashMap<>(hosts.exported());
    exported.put(CommandSettings.MODE.variable(), mode.toString());
    if (servers > 0) {
      boolean here = slots.stream().allMatch(s -> HostAddresses.isHere(s.host()));
      Durability kept =
          durability != null ? durability : here ? Durability.PROCESS : Durability.MEMORY;
      exported.put(CommandSettings.DURABILITY.variable(), kept.toString());
      if (here) {
        exported.put(
            CommandSettings.STATE_DIR.variable(),
            folder.resolve("state").toAbsolutePath().toString());
      }
    }
    if (Terminal.isThere() && !showAll) {
      exported.putIfAbsent(CommandSettings.LIVE.variable(), "true");
    }
    return switch (mode) {
      case LOCAL -> new LocalPlan(slots.getFirst().host(), program, exported, page.isGiven());
      case RING -> new RingPlan(slots, program, exported, page.isGiven());
      default -> new ClusterPlan(slots, servers, training, port, program, exported, credentials);
    };
  }

  private String shape(int servers, int training) {
    String text =
        switch (mode) {
          case LOCAL -> "one process";
          case RING -> training + (training == 1 ? " rank" : " ranks");
          default -> servers + " ps, " + training + (training == 1 ? " worker" : " workers");
        };
    return text + (evaluator ? ", an evaluator" : "") + ", " + mode;
  }
}
