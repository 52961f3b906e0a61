package dev.millrace.cli.launch;

import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import dev.millrace.cli.text.ErrorPrinter;
import dev.millrace.cli.text.Terminal;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Starts a program as several ranks that train together. */
@Command(
    name = "launch",
    description = "Run a program as the ranks of one job, here and on other hosts.",
    footer = {
      "",
      "Every rank gets its number in MILLRACE_RANK and finds the others by itself. Hosts are"
          + " filled",
      "in the order given. On other hosts ranks are started by ssh in a folder of the same name.",
      "The first rank that fails ends all others; its exit code is that of this command.",
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

  @Option(
      names = {"-H", "--hosts"},
      paramLabel = "HOST:SLOTS,...",
      description = "The hosts and how many ranks each takes; this one if not given.")
  String hosts;

  @Option(
      names = {"-hostfile", "--hostfile"},
      paramLabel = "FILE",
      description = "The hosts, in lines such as: host1 slots=2.")
  Path hostFile;

  @Option(
      names = "-x",
      paramLabel = "NAME[=VALUE]",
      description = "A variable of the environment for all ranks; repeat it for more.")
  List<String> exports = List.of();

  @Option(
      names = "--ssh",
      paramLabel = "COMMAND",
      description = "How other hosts are reached. Default: ssh -o BatchMode=yes.")
  String ssh = "ssh -o BatchMode=yes";

  @Parameters(arity = "1..*", paramLabel = "COMMAND", description = "The program, after --.")
  List<String> command;

  @Override
  public Integer call() throws Exception {
    List<HostSlots.Slot> slots = HostSlots.assign(hosts(), ranks());
    try (LaunchedJob job = new LaunchedJob(slots, exported())) {
      CommandLine line = spec.commandLine();
      job.start(
          command, List.of(ssh.split(" ")), line.getOut(), line.getErr(), Terminal.hasColours());
      LaunchedRank failed = job.await();
      if (failed == null) {
        return 0;
      }
      String last = failed.lastLine();
      line.getErr()
          .printf(
              "%sRank %d on %s ended with code %d%s%n",
              ErrorPrinter.PREFIX,
              failed.slot().rank(),
              failed.slot().host(),
              failed.exitCode(),
              last.isEmpty() ? "." : ": " + last);
      line.getErr().flush();
      return failed.exitCode();
    }
  }

  private List<HostSlots> hosts() {
    if (hosts != null && hostFile != null) {
      throw MillraceException.invalid("Give -H or --hostfile, not both.");
    }
    if (hostFile != null) {
      return HostSlots.read(hostFile);
    }
    if (hosts != null) {
      return HostSlots.parse(hosts);
    }
    if (ranks == null) {
      throw MillraceException.invalid("Say how many ranks: -np N, or the hosts with -H.");
    }
    return List.of(new HostSlots("localhost", Math.max(0, ranks)));
  }

  private int ranks() {
    return ranks != null ? ranks : hosts().stream().mapToInt(HostSlots::slots).sum();
  }

  private Map<String, String> exported() {
    Map<String, String> all = new LinkedHashMap<>();
    for (String export : exports) {
      int equals = export.indexOf('=');
      String name = equals < 0 ? export : export.substring(0, equals);
      String value =
          equals < 0 ? ProcessEnvironment.variables().get(name) : export.substring(equals + 1);
      if (value == null || name.isEmpty()) {
        throw MillraceException.invalid(
            "-x %s: there is no such variable here. Set it, or give -x %s=VALUE.", export, name);
      }
      all.put(name, value);
    }
    return all;
  }
}
