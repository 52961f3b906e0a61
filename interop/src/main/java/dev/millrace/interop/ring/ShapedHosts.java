package dev.millrace.interop.ring;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * "Hosts" on this machine: network namespaces of their own, each linked to one switch by a link of
 * the given speed in either direction. Needs the right to make namespaces (root, or CAP_SYS_ADMIN
 * and CAP_NET_ADMIN) and the commands {@code ip} and {@code tc}.
 */
final class ShapedHosts implements AutoCloseable {
  private static final String SUBNET = "10.213.7.";

  private final String prefix = "mr" + ProcessHandle.current().pid();
  private final String hub = prefix + "s";
  private final int count;

  private final Thread onExit = new Thread(this::remove, "remove-namespaces");

  /** Namespaces made so far. */
  private final List<String> made = new ArrayList<>();

  /** Makes {@code count} hosts; {@code rate} is as {@code tc} writes it, such as 1gbit. */
  ShapedHosts(int count, String rate) {
    this.count = count;
    Runtime.getRuntime().addShutdownHook(onExit);
    try {
      makeHub();
      for (int i = 0; i < count; i++) {
        makeHost(i, rate);
      }
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private void makeHub() {
    run("ip netns add " + hub);
    made.add(hub);
    run("ip -n " + hub + " link add name sw type bridge");
    run("ip -n " + hub + " link set dev sw up");
  }

  private void makeHost(int i, String rate) {
    String host = prefix + "h" + i;
    String port = "p" + i;
    run("ip netns add " + host);
    made.add(host);
    run("ip -n " + host + " link add name eth0 type veth peer name " + port + " netns " + hub);
    run("ip -n " + host + " addr add " + address(i) + "/24 dev eth0");
    run("ip -n " + host + " link set lo up");
    run("ip -n " + host + " link set eth0 up");
    run("ip -n " + hub + " link set " + port + " master sw up");
    // Always there; the default of this machine may hold data back by itself.
    run("ip netns exec " + host + " sysctl -qw net.ipv4.tcp_congestion_control=reno");
    String shape = " root tbf rate " + rate + " burst 256kb latency 30ms";
    run("tc -n " + host + " qdisc add dev eth0" + shape);
    run("tc -n " + hub + " qdisc add dev " + port + shape);
  }

  int count() {
    return count;
  }

  /** The address of host {@code i}. */
  String address(int i) {
    return SUBNET + (i + 1);
  }

  /** The command that runs {@code command} on host {@code i}. */
  List<String> on(int i, List<String> command) {
    List<String> all = new ArrayList<>(List.of("ip", "netns", "exec", prefix + "h" + i));
    all.addAll(command);
    return all;
  }

  private static void run(String command) {
    try {
      Process p = new ProcessBuilder(command.split(" ")).redirectErrorStream(true).start();
      String said = new String(p.getInputStream().readAllBytes()).strip();
      if (!Timers.system().join(p, TimeUnit.SECONDS.toNanos(10)) || p.exitValue() != 0) {
        throw new MillraceException(
            Code.FAILED_PRECONDITION,
            "SKIPPED: shaped links need network namespaces, and '" + command + "' failed: " + said);
      }
    } catch (IOException e) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION, "SKIPPED: '" + command + "' cannot be run: " + e, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Interrupted.", e);
    }
  }

  /** Takes everything down; links go with their namespaces. */
  @Override
  public void close() {
    remove();
    try {
      Runtime.getRuntime().removeShutdownHook(onExit);
    } catch (IllegalStateException e) {
      // Already shutting down: the hook is running or has run.
    }
  }

  private synchronized void remove() {
    for (String name : made) {
      try {
        run("ip netns del " + name);
      } catch (MillraceException e) {
        System.err.println(e.getMessage());
      }
    }
    made.clear();
  }
}
