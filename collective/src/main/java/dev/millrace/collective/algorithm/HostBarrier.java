package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.HostGroup;
import dev.millrace.collective.peers.RankPeers;
import java.util.ArrayList;
import java.util.List;

/** A barrier between the ranks of one host. */
final class HostBarrier implements PendingWait {
  private final RankPeers peers;
  private final HostGroup island;
  private final RankWait patience;
  private final int[] ranks;

  /** Members before this one have reached the current barrier. */
  private int next;

  HostBarrier(RankPeers peers, RankWait patience) {
    this.peers = peers;
    this.island = peers.island();
    this.patience = patience;
    this.ranks = peers.topology().ranks(peers.topology().islandOf(peers.rank()));
  }

  /** Enters the next barrier and waits for all members. */
  void await() {
    island.arrive(0, 0, 0);
    awaitMembers();
  }

  /**
   * Enters the next barrier with an envelope and a third word, waits for all members, and checks
   * that all execute the same operation.
   */
  void await(Envelope envelope, long word) {
    island.arrive(envelope.what(), envelope.bytes(), word);
    awaitMembers();
    for (int m = 0; m < island.size(); m++) {
      if (m != island.me()
          && (island.word(m, 0) != envelope.what() || island.word(m, 1) != envelope.bytes())) {
        Envelope found = new Envelope(island.word(m, 0), island.word(m, 1));
        throw peers.liveness().fail(envelope.mismatch(peers.rank(), found, ranks[m]));
      }
    }
  }

  /** The third word of another member. */
  long wordOf(int member) {
    return island.word(member, 2);
  }

  private void awaitMembers() {
    patience.renew();
    for (next = 0; next < island.size(); next++) {
      while (!island.isHere(next)) {
        patience.pause(this);
      }
    }
  }

  @Override
  public boolean waitsFor(int rank) {
    for (int m = 0; m < island.size(); m++) {
      if (ranks[m] == rank) {
        return !island.isHere(m);
      }
    }
    return false;
  }

  @Override
  public String missing() {
    List<String> absent = new ArrayList<>();
    for (int m = 0; m < island.size(); m++) {
      if (!island.isHere(m)) {
        absent.add(peers.describe(ranks[m]));
      }
    }
    return String.join(", ", absent) + " to come to the same point";
  }
}
