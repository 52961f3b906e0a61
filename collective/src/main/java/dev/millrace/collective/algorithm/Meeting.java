package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.Island;
import dev.millrace.collective.peers.Peers;
import java.util.ArrayList;
import java.util.List;

/** Where the ranks of one host wait for each other. */
final class Meeting implements Stage {
  private final Peers peers;
  private final Island island;
  private final Patience patience;
  private final int[] ranks;

  /** Members before this one have come to the current meeting. */
  private int next;

  Meeting(Peers peers, Patience patience) {
    this.peers = peers;
    this.island = peers.island();
    this.patience = patience;
    this.ranks = peers.topology().ranks(peers.topology().islandOf(peers.rank()));
  }

  /** Comes to the next meeting and waits for all others. */
  void attend() {
    island.arrive(0, 0, 0);
    await();
  }

  /**
   * Comes to the next meeting with an envelope and a third word, waits for all others, and makes
   * sure that they are about the same operation.
   */
  void attend(Envelope envelope, long word) {
    island.arrive(envelope.what(), envelope.bytes(), word);
    await();
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

  private void await() {
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
