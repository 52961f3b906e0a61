package dev.millrace.cli.launch;

import dev.millrace.base.MillraceException;
import dev.millrace.cli.text.ErrorPrinter;
import dev.millrace.cli.text.Terminal;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Starts a program as several ranks that train together. */
@Command(
    name = "launch",
    description = "Run a program as the ranks of one job, here and on other hosts.",
    footer = {
      "",
      "Every rank gets its number in MILLRACE_RANK and finds the others by itself. HostAddresses"
          + " are filled",
      "in the order given. On other hosts ranks are started by ssh in a folder of the same name.",
      "The first rank that fails ends all others; its exit code is that of this command. The",
      "command run also starts failed ranks again.",
      "",
      "Examples:",
      "  millrace launch -np 2 -- java -cp train.jar Train",
      "  millrace launch -np 4 -H host1:2,host2:2 -x JAVA_HOME -- ./train.sh --steps 1000",
    })
public final class LaunchCommand implements Callable<Integer> {
  @CommandLine.Spec CommandLine.Model.CommandSpec spec;

  @Option(
      names = {"-np", "--num-proc"},
      paramLabel = "N",
      description = "How many ranks; as many as there are slots if not given.")
  Integer ranks;

  @Mixin HostFlags hosts;

  @Parameters(arity = "1..*", paramLabel = "COMMAND", description = "The program, after --.")
  List<String> command;

  @Override
  public Integer call() throws Exception {
    CommandLine line = spec.commandLine();
    RingPlan plan = new RingPlan(slots(), Program.executable(command), hosts.exported(), false);
    JobDisplay display =
        new JobDisplay(line.getOut(), line.getErr(), true, Terminal.hasColours(), null);
    try (SupervisedJob job =
        new SupervisedJob(plan, RestartPolicy.NEVER, hosts.sshCommand(), display)) {
      JobOutcome result = job.run();
      if (result.isDone()) {
        return 0;
      }
      // The rank's own last line ends this one, as the rank wrote it.
      String words = result.words().isEmpty() ? "." : ": " + result.words();
      line.getErr()
          .printf(
              "%sRank %s on %s ended with code %d%s%n",
              ErrorPrinter.PREFIX,
              result.task().label(),
              result.task().host(),
              result.code(),
              words);
      line.getErr().flush();
      return result.code();
    }
  }

  private List<HostSlots.Slot> slots() {
    if (ranks == null && !hosts.given()) {
      throw MillraceException.invalid("Say how many ranks: -np N, or the hosts with -H.");
    }
    if (ranks != null && ranks < 1) {
      throw MillraceException.invalid("-np is %d; a job has at least 1 rank.", ranks);
    }
    int size = ranks != null ? ranks : hosts.slots();
    return HostSlots.assign(hosts.hosts(size), size, "ranks");
  }
}
