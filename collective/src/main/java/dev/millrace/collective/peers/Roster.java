package dev.millrace.collective.peers;

import dev.millrace.collective.member.Hosts;
import dev.millrace.collective.member.Member;
import dev.millrace.collective.member.Packet;
import java.util.ArrayList;
import java.util.List;

/**
 * Where every rank is and how it can be reached.
 *
 * @param entries one per rank
 */
record Roster(List<Entry> entries) {
  /**
   * One rank.
   *
   * @param host ranks with the same text may share memory
   * @param network ranks with the same text can reach each other over loopback
   * @param machine ranks with the same text compete for the same processors
   * @param address of its TCP listener
   * @param port of its TCP listener
   * @param socket path of its Unix domain socket
   */
  record Entry(
      String host, String network, String machine, String address, int port, String socket) {
    static Entry here(String host, String address, int port, String socket) {
      return new Entry(host, Hosts.identity(), Hosts.machine(), address, port, socket);
    }
  }

  /** Tells all ranks about this one and learns about them. */
  static Roster exchange(Member member, Entry mine) {
    Packet p = Packet.empty().putString(mine.host).putString(mine.network);
    p.putString(mine.machine).putString(mine.address).putInt(mine.port).putString(mine.socket);
    List<Entry> entries = new ArrayList<>();
    for (byte[] bytes : member.exchange("roster", p.toBytes())) {
      Packet e = Packet.of(bytes);
      entries.add(
          new Entry(
              e.getString(),
              e.getString(),
              e.getString(),
              e.getString(),
              e.getInt(),
              e.getString()));
    }
    return new Roster(entries);
  }

  Entry of(int rank) {
    return entries.get(rank);
  }

  /** Which ranks are on which host. */
  Topology hosts() {
    return Topology.of(entries.stream().map(Entry::host).toList());
  }

  /** How many ranks run on the machine of this one. */
  int neighbours(int rank) {
    String machine = of(rank).machine;
    return (int) entries.stream().filter(e -> e.machine.equals(machine)).count();
  }
}
