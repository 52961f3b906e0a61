package dev.millrace.cli.launch;

import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Option;

/** Where the tasks of a job run, and with which environment. */
final class HostFlags {
  @Option(
      names = {"-H", "--hosts"},
      paramLabel = "HOST:SLOTS,...",
      description = "The hosts and how many tasks each takes; this one if not given.")
  String hosts;

  @Option(
      names = {"-hostfile", "--hostfile"},
      paramLabel = "FILE",
      description = "The hosts, in lines such as: host1 slots=2.")
  Path hostFile;

  @Option(
      names = "-x",
      paramLabel = "NAME[=VALUE]",
      description = "A variable of the environment for all tasks; repeat it for more.")
  List<String> exports = List.of();

  @Option(
      names = "--ssh",
      paramLabel = "COMMAND",
      description = "How other hosts are reached. Default: ssh -o BatchMode=yes.")
  String ssh = "ssh -o BatchMode=yes";

  /** The words of the command that reaches other hosts. */
  List<String> sshCommand() {
    return List.of(ssh.split(" "));
  }

  /** Whether hosts are named. */
  boolean given() {
    return hosts != null || hostFile != null;
  }

  /** The hosts; this one with {@code slots} if none is named. */
  List<HostSlots> hosts(int slots) {
    if (hosts != null && hostFile != null) {
      throw MillraceException.invalid("Give --hosts or --hostfile, not both.");
    }
    if (hostFile != null) {
      return HostSlots.read(hostFile);
    }
    return hosts != null
        ? HostSlots.parse(hosts)
        : List.of(new HostSlots(HostAddresses.LOCAL, Math.max(0, slots)));
  }

  /** How many tasks the named hosts take. */
  int slots() {
    return hosts(0).stream().mapToInt(HostSlots::slots).sum();
  }

  /** The variables of {@code -x}. */
  Map<String, String> exported() {
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
