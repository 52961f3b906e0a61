package dev.millrace.cli.launch;

import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.RankSettings;
import dev.millrace.cluster.HeldPorts;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.collective.Ring;
import dev.millrace.collective.Settings;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.collective.member.RingCoordinator;
import dev.millrace.collective.member.Token;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The ranks of a ring. The launcher itself runs the ring's coordinator, so ranks find each other
 * wherever they are. A rank cannot rejoin a ring: every call of {@link #tasks} forms a new one.
 */
public final class RingPlan implements JobPlan {
  private final List<HostSlots.Slot> slots;
  private final List<String> command;
  private final Map<String, String> exported;
  private RingCoordinator coordinator;

  /** Where the ranks answer how they are; null if nobody is to ask. */
  private final HeldPorts ports;

  /**
   * Ranks in {@code slots} that run {@code command}, with the variables {@code exported}.
   *
   * @param watched whether they are to answer how they are, which they can on this machine alone
   */
  RingPlan(
      List<HostSlots.Slot> slots,
      List<String> command,
      Map<String, String> exported,
      boolean watched) {
    this.slots = slots;
    boolean here = slots.stream().allMatch(s -> HostAddresses.isHere(s.host()));
    ports = watched && here ? HeldPorts.take(slots.size()) : null;
    this.command = command;
    this.exported = exported;
  }

  /** A ring of {@code ranks} on this machine, with the variables {@code exported}. */
  public static RingPlan here(
      int ranks, List<String> command, Map<String, String> exported, boolean watched) {
    List<HostSlots> here = List.of(new HostSlots(HostAddresses.LOCAL, ranks));
    return new RingPlan(HostSlots.assign(here, ranks, "ranks"), command, exported, watched);
  }

  @Override
  public List<JobTask> tasks() throws IOException {
    closeCoordinator();
    Token token = Token.random();
    InetAddress here =
        HostAddresses.meetingPoint(slots.stream().map(HostSlots.Slot::host).toList());
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
    Map<String, String> shared = new LinkedHashMap<>(exported);
    shared.put("MILLRACE_SIZE", Integer.toString(slots.size()));
    shared.put(
        "MILLRACE_RENDEZVOUS", here.getHostAddress() + ":" + coordinator.address().getPort());
    shared.put("MILLRACE_COORDINATOR", "launcher");
    shared.put("MILLRACE_TOKEN", token.text());
    if (!here.isLoopbackAddress()) {
      shared.putIfAbsent("MILLRACE_BIND", "0.0.0.0");
    }
    if (ports != null) {
      shared.put(RankSettings.STATUS.variable(), String.join(",", ports.addresses()));
    }
    List<JobTask> tasks = new ArrayList<>();
    for (HostSlots.Slot s : slots) {
      Map<String, String> own = new LinkedHashMap<>(shared);
      own.put("MILLRACE_RANK", Integer.toString(s.rank()));
      own.put("MILLRACE_HOST", s.host());
      own.put("MILLRACE_LOCAL_RANK", Integer.toString(s.localRank()));
      own.put("MILLRACE_LOCAL_SIZE", Integer.toString(s.localSize()));
      tasks.add(new JobTask("rank " + s.rank(), s.host(), s.rank() == 0, command, own));
    }
    return tasks;
  }

  @Override
  public Optional<ClusterSpec> watched() {
    return ports == null
        ? Optional.empty()
        : Optional.of(ClusterSpec.of(Map.of("rank", ports.addresses())));
  }

  @Override
  public void close() {
    closeCoordinator();
    if (ports != null) {
      ports.close();
    }
  }

  private void closeCoordinator() {
    if (coordinator != null) {
      coordinator.close();
      coordinator = null;
    }
  }
}
