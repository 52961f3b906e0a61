package dev.millrace.cli.launch;

import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.Timers;
import dev.millrace.base.config.Config;
import dev.millrace.collective.Ring;
import dev.millrace.collective.Settings;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.collective.member.RingCoordinator;
import dev.millrace.collective.member.Token;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The ranks of one job, from start to end. The launcher itself runs the job's coordinator, so ranks
 * find each other wherever they are. The first rank that fails ends all others, and so does the end
 * of the launcher.
 */
final class LaunchedJob implements AutoCloseable {
  private static final long STOP_SECONDS = 5;

  private final List<HostSlots.Slot> slots;
  private final RingCoordinator coordinator;
  private final List<LaunchedRank> ranks = new ArrayList<>();
  private final LinkedBlockingQueue<LaunchedRank> ended = new LinkedBlockingQueue<>();
  private final Thread onExit = new Thread(this::stopAll, "millrace-stop-ranks");

  /** What every rank is told, whichever it is. */
  private final Map<String, String> shared = new LinkedHashMap<>();

  LaunchedJob(List<HostSlots.Slot> slots, Map<String, String> exported) throws IOException {
    this.slots = slots;
    Token token = Token.random();
    InetAddress here = meetingPoint(slots);
    // What is set for the ranks alone counts for the coordinator too, which decides for them.
    Map<String, String> environment = new HashMap<>(ProcessEnvironment.variables());
    environment.putAll(exported);
    coordinator =
        Ring.coordinate(
            slots.size(),
            Settings.fromEnvironment(
                RankConfig.alone(),
                Config.of(ProcessEnvironment.properties("millrace."), environment)),
            token,
            new InetSocketAddress(here, 0));
    shared.putAll(exported);
    shared.put("MILLRACE_SIZE", Integer.toString(slots.size()));
    shared.put(
        "MILLRACE_RENDEZVOUS", here.getHostAddress() + ":" + coordinator.address().getPort());
    shared.put("MILLRACE_COORDINATOR", "launcher");
    shared.put("MILLRACE_TOKEN", token.text());
    if (!here.isLoopbackAddress()) {
      shared.putIfAbsent("MILLRACE_BIND", "0.0.0.0");
    }
    Runtime.getRuntime().addShutdownHook(onExit);
  }

  /**
   * Loopback if all ranks run here, else the address from which the first other host is reached.
   */
  private static InetAddress meetingPoint(List<HostSlots.Slot> slots) throws IOException {
    for (HostSlots.Slot s : slots) {
      if (!isHere(s.host())) {
        try (DatagramSocket probe = new DatagramSocket()) {
          probe.connect(InetAddress.getByName(s.host()), 9);
          return probe.getLocalAddress();
        } catch (UnknownHostException e) {
          // An alias only ssh knows: any address but loopback may do.
          return InetAddress.getLocalHost();
        }
      }
    }
    return InetAddress.getLoopbackAddress();
  }

  private static boolean isHere(String host) {
    try {
      InetAddress a = InetAddress.getByName(host);
      return a.isLoopbackAddress() || NetworkInterface.getByInetAddress(a) != null;
    } catch (IOException e) {
      return false;
    }
  }

  /** Starts all ranks; those on other hosts through {@code ssh}. */
  void start(
      List<String> command, List<String> ssh, PrintWriter out, PrintWriter err, boolean colour) {
    for (HostSlots.Slot s : slots) {
      Map<String, String> environment = new LinkedHashMap<>(shared);
      environment.put("MILLRACE_RANK", Integer.toString(s.rank()));
      environment.put("MILLRACE_HOST", s.host());
      environment.put("MILLRACE_LOCAL_RANK", Integer.toString(s.localRank()));
      environment.put("MILLRACE_LOCAL_SIZE", Integer.toString(s.localSize()));
      LaunchedRank rank =
          isHere(s.host())
              ? LaunchedRank.local(s, command, environment)
              : LaunchedRank.remote(s, ssh, command, environment);
      ranks.add(rank);
      rank.show(out, err, colour);
      rank.onExit().thenRun(() -> ended.add(rank));
    }
  }

  /** Waits until all ranks have ended well, then null; or until one has not, which is returned. */
  LaunchedRank await() throws InterruptedException {
    for (int left = ranks.size(); left > 0; left--) {
      LaunchedRank r = ended.take();
      if (r.exitCode() != 0) {
        stopAll();
        return r;
      }
    }
    for (LaunchedRank r : ranks) {
      r.awaitOutput();
    }
    return null;
  }

  /** Ends all ranks: asks them, waits a little, and then does not ask. */
  private void stopAll() {
    ranks.forEach(LaunchedRank::stop);
    long end = Timers.system().now() + TimeUnit.SECONDS.toNanos(STOP_SECONDS);
    for (LaunchedRank r : ranks) {
      try {
        Timers.system().get(r.onExit(), Math.max(0, end - Timers.system().now()));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (ExecutionException | TimeoutException e) {
        // Ended below.
      }
      r.kill();
    }
  }

  @Override
  public void close() {
    if (ranks.stream().anyMatch(LaunchedRank::isAlive)) {
      stopAll();
    }
    coordinator.close();
    try {
      Runtime.getRuntime().removeShutdownHook(onExit);
    } catch (IllegalStateException e) {
      // Already shutting down: the hook is running or has run.
    }
  }
}
