package dev.millrace.cli.doctor;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Version;
import dev.millrace.cli.cluster.ClusterView;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.proto.DeviceAttributes;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Whether the tasks of a cluster can find and reach one another. A task that runs already is asked
 * to reach all others itself, and what it sees is compared with what is seen from here: as every
 * start of a task has a number of its own, two that see the same number reach the same process.
 */
final class NetworkCheck {
  /** Clocks that differ by less are taken to agree. */
  private static final double CLOCK_SECONDS = 1;

  private final ClusterSpec cluster;
  private final Duration patience;
  private final Diagnosis found;

  NetworkCheck(ClusterSpec cluster, Duration patience, Diagnosis found) {
    this.cluster = cluster;
    this.patience = patience;
    this.found = found;
  }

  void run() {
    uniqueAddresses();
    try (ClusterView view = new ClusterView(cluster, patience)) {
      List<ClusterView.Answer> answers = view.ask();
      for (ClusterView.Answer a : answers) {
        address(a);
      }
      List<ClusterView.Answer> ours =
          answers.stream().filter(ClusterView.Answer::hasFacts).toList();
      if (!ours.isEmpty()) {
        versions(ours);
        clocks(ours);
      }
      if (answers.stream().allMatch(ClusterView.Answer::isUp)) {
        answers.forEach(a -> mutual(view, a, answers));
      } else {
        found.note(
            "both ways",
            "%d of %d tasks run; once all do, doctor also checks that each reaches all others.",
            answers.stream().filter(ClusterView.Answer::isUp).count(),
            answers.size());
      }
    }
  }

  private void uniqueAddresses() {
    Map<String, TaskId> owners = new HashMap<>();
    for (TaskId t : cluster.tasks()) {
      TaskId other = owners.put(cluster.address(t), t);
      if (other != null) {
        found.bad("cluster", "%s and %s have the same address %s.", other, t, cluster.address(t));
      }
    }
    found.ok("cluster", "%s", cluster);
  }

  /** One address: its name, and who is there. */
  private void address(ClusterView.Answer a) {
    String subject = a.task().toString();
    int colon = a.address().lastIndexOf(':');
    String host = a.address().substring(0, colon);
    int port = Integer.parseInt(a.address().substring(colon + 1));
    InetAddress ip;
    try {
      ip = InetAddress.getByName(host);
    } catch (UnknownHostException e) {
      found.bad(subject, "%s does not resolve here.", host);
      return;
    }
    if (a.isUp()) {
      running(a, ip);
    } else if (!isHere(ip)) {
      found.note(
          subject, "%s (%s) does not answer: %s", a.address(), ip.getHostAddress(), a.failure());
    } else {
      listening(subject, a, ip, port);
    }
  }

  private void running(ClusterView.Answer a, InetAddress ip) {
    String name = a.devices().isEmpty() ? "" : a.devices().getFirst().getName();
    if (!name.startsWith(a.task().name() + "/")) {
      found.bad(
          a.task().toString(),
          "at %s answers a task that calls itself %s.",
          a.address(),
          name.isEmpty() ? "nothing" : name);
    } else {
      found.ok(
          a.task().toString(),
          "runs at %s (%s), answered in %.0f ms",
          a.address(),
          ip.getHostAddress(),
          a.millis());
    }
  }

  /** An address of this machine where no task answers: the port must be free for it. */
  private void listening(String subject, ClusterView.Answer a, InetAddress ip, int port) {
    try (ServerSocket s = new ServerSocket(port, 1, ip)) {
      found.ok(subject, "not started; port %d of this machine is free", s.getLocalPort());
    } catch (IOException e) {
      found.bad(
          subject,
          "port %d of this machine is taken by something that does not answer: %s",
          port,
          a.failure());
    }
  }

  private static boolean isHere(InetAddress ip) {
    try {
      return ip.isLoopbackAddress() || NetworkInterface.getByInetAddress(ip) != null;
    } catch (SocketException e) {
      return false;
    }
  }

  /** Tasks of several versions understand each other, but by TensorFlow's protocol at worst. */
  private void versions(List<ClusterView.Answer> ours) {
    Map<String, List<TaskId>> tasks =
        ours.stream()
            .collect(
                Collectors.groupingBy(
                    a -> a.facts().getVersion(),
                    TreeMap::new,
                    Collectors.mapping(ClusterView.Answer::task, Collectors.toList())));
    if (tasks.keySet().equals(Set.of(Version.own()))) {
      found.ok("versions", "%d tasks run Millrace %s, as this is", ours.size(), Version.own());
    } else {
      found.note(
          "versions",
          "the tasks run Millrace %s, and this is %s. Install the same version everywhere: others"
              + " may have to do without the faster ways between tasks.",
          tasks,
          Version.own());
    }
  }

  private void clocks(List<ClusterView.Answer> ours) {
    ClusterView.Answer worst =
        Collections.max(ours, Comparator.comparingDouble(a -> Math.abs(a.clockAheadMillis())));
    double seconds = worst.clockAheadMillis() / 1e3;
    if (Math.abs(seconds) < CLOCK_SECONDS) {
      found.ok("clocks", "of %d tasks agree with this machine's", ours.size());
    } else {
      found.note(
          "clocks",
          "that of %s is %.1f s %s this machine's: the times in logs and summaries of different"
              + " tasks will not fit together. Have all machines set theirs by NTP.",
          worst.task(),
          Math.abs(seconds),
          seconds > 0 ? "ahead of" : "behind");
    }
  }

  /** Has one task reach all others and compares what it sees. */
  private void mutual(ClusterView view, ClusterView.Answer from, List<ClusterView.Answer> answers) {
    Set<Long> seen = new HashSet<>();
    Set<String> tasks = new TreeSet<>();
    try {
      for (DeviceAttributes d : view.seenBy(from.task())) {
        seen.add(d.getIncarnation());
        tasks.add(d.getName().replaceAll("/device:.*", ""));
      }
    } catch (MillraceException e) {
      found.bad("from " + from.task(), "%s", e.getMessage());
      return;
    }
    Set<String> expected = new TreeSet<>();
    answers.forEach(a -> expected.add(a.task().name()));
    List<TaskId> others =
        answers.stream()
            .filter(a -> a.devices().stream().noneMatch(d -> seen.contains(d.getIncarnation())))
            .map(ClusterView.Answer::task)
            .toList();
    if (!tasks.equals(expected)) {
      found.bad(
          "from " + from.task(), "its cluster spec has the tasks %s, not %s.", tasks, expected);
    } else if (!others.isEmpty()) {
      found.bad(
          "from " + from.task(),
          "it reaches other processes than this machine does as %s: the cluster specs differ.",
          others);
    } else {
      found.ok("from " + from.task(), "reaches all %d tasks, the same ones", tasks.size());
    }
  }
}
