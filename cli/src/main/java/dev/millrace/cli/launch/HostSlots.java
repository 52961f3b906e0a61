package dev.millrace.cli.launch;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.Failures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A host and how many tasks it takes.
 *
 * @param host its name or address
 * @param slots how many
 */
record HostSlots(String host, int slots) {
  private static final Pattern FLAG = Pattern.compile("([\\w.-]+):([0-9]{1,6})");
  private static final Pattern LINE =
      Pattern.compile("([\\w.-]+)(?:\\s+slots\\s*=\\s*([0-9]{1,6}))?\\s*(?:#.*)?");

  /** The place of a task on a host; ranks count over the whole job. */
  record Slot(int rank, String host, int localRank, int localSize) {}

  /** What a flag such as {@code host1:2,host2:2} says. */
  static List<HostSlots> parse(String flag) {
    List<HostSlots> hosts = new ArrayList<>();
    for (String part : flag.split(",", -1)) {
      Matcher m = FLAG.matcher(part.strip());
      if (!m.matches()) {
        throw MillraceException.invalid(
            "'%s' in --hosts %s is not host:slots, such as host1:2.", part, flag);
      }
      hosts.add(new HostSlots(m.group(1), Integer.parseInt(m.group(2))));
    }
    return checked(hosts);
  }

  /** What a file says: lines such as {@code host1 slots=2}, 1 if not given, and comments. */
  static List<HostSlots> read(Path file) {
    List<HostSlots> hosts = new ArrayList<>();
    try {
      int number = 0;
      for (String line : Files.readAllLines(file)) {
        number++;
        if (line.isBlank() || line.strip().startsWith("#")) {
          continue;
        }
        Matcher m = LINE.matcher(line.strip());
        if (!m.matches()) {
          throw MillraceException.invalid(
              "Line %d of %s is '%s'; it must be a host and slots=NUMBER.", number, file, line);
        }
        hosts.add(new HostSlots(m.group(1), m.group(2) == null ? 1 : Integer.parseInt(m.group(2))));
      }
    } catch (IOException e) {
      throw new MillraceException(
          Code.NOT_FOUND, "Cannot read the host file " + file + ": " + Failures.reason(e) + ".", e);
    }
    return checked(hosts);
  }

  private static List<HostSlots> checked(List<HostSlots> hosts) {
    Set<String> names = new HashSet<>();
    for (HostSlots h : hosts) {
      if (!names.add(h.host)) {
        throw MillraceException.invalid("Host '%s' is named twice. Add its slots up.", h.host);
      }
    }
    return hosts;
  }

  /**
   * Places of the tasks: hosts in the order given, each filled before the next.
   *
   * @param what the name of the tasks in messages, such as {@code ranks}
   */
  static List<Slot> assign(List<HostSlots> hosts, int tasks, String what) {
    int room = hosts.stream().mapToInt(HostSlots::slots).sum();
    if (tasks < 1) {
      throw MillraceException.invalid(
          "A job of %d %s cannot run; it needs at least 1.", tasks, what);
    }
    if (tasks > room) {
      throw MillraceException.invalid(
          "%d %s do not fit the %d slots of %s. Give at most %d, or more slots.",
          tasks, what, room, hosts.stream().map(HostSlots::toString).toList(), room);
    }
    List<Slot> all = new ArrayList<>();
    for (HostSlots h : hosts) {
      int here = Math.min(h.slots, tasks - all.size());
      for (int local = 0; local < here; local++) {
        all.add(new Slot(all.size(), h.host, local, here));
      }
    }
    return all;
  }

  @Override
  public String toString() {
    return host + ":" + slots;
  }
}
