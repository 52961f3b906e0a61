package dev.millrace.collective.peers;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Which ranks share a host. The ranks of one host form an island; islands are numbered by their
 * first rank.
 *
 * <p>The topology also fixes the order in which contributions are reduced, which is what makes
 * results repeat to the bit. A vector is cut into as many parts as there are islands; part {@code
 * p} is reduced over the ranks of island {@code p + 1} first, then {@code p + 2} and so on around
 * to island {@code p}, and within an island in order of rank. A ring over the islands produces this
 * order naturally, and every other algorithm follows it.
 */
public final class Topology {
  private final int[][] islands;
  private final int[] islandOf;
  private final int[] localRankOf;

  private Topology(int[][] islands, int size) {
    this.islands = islands;
    islandOf = new int[size];
    localRankOf = new int[size];
    for (int i = 0; i < islands.length; i++) {
      for (int l = 0; l < islands[i].length; l++) {
        islandOf[islands[i][l]] = i;
        localRankOf[islands[i][l]] = l;
      }
    }
  }

  /** Rank {@code r} is on host {@code hosts.get(r)}; hosts are told apart by equals. */
  public static Topology of(List<?> hosts) {
    Map<Object, List<Integer>> byHost = new LinkedHashMap<>();
    for (int r = 0; r < hosts.size(); r++) {
      byHost.computeIfAbsent(hosts.get(r), h -> new ArrayList<>()).add(r);
    }
    int[][] islands =
        byHost.values().stream()
            .map(ranks -> ranks.stream().mapToInt(Integer::intValue).toArray())
            .toArray(int[][]::new);
    return new Topology(islands, hosts.size());
  }

  /** Every rank on a host of its own. */
  public static Topology apart(int size) {
    int[][] islands = new int[size][];
    for (int r = 0; r < size; r++) {
      islands[r] = new int[] {r};
    }
    return new Topology(islands, size);
  }

  /** These ranks alone, renumbered from 0 in the order given. */
  Topology of(int[] ranks) {
    return of(Arrays.stream(ranks).mapToObj(r -> islandOf[r]).toList());
  }

  /** How many ranks there are. */
  public int size() {
    return islandOf.length;
  }

  /** How many islands there are, which is how many parts a vector is cut into. */
  public int islands() {
    return islands.length;
  }

  /** The ranks of an island, in order. */
  public int[] ranks(int island) {
    return islands[island].clone();
  }

  /** The island of a rank. */
  public int islandOf(int rank) {
    return islandOf[rank];
  }

  /** A rank's place among those of its island. */
  public int localRank(int rank) {
    return localRankOf[rank];
  }

  /** How many ranks share the island of this one. */
  public int localSize(int rank) {
    return islands[islandOf[rank]].length;
  }

  /** A rank's place among the ranks of all islands with the same local rank. */
  public int crossRank(int rank) {
    int before = 0;
    for (int i = 0; i < islandOf[rank]; i++) {
      before += islands[i].length > localRankOf[rank] ? 1 : 0;
    }
    return before;
  }

  /** How many islands have a rank with this one's local rank. */
  public int crossSize(int rank) {
    int n = 0;
    for (int[] island : islands) {
      n += island.length > localRankOf[rank] ? 1 : 0;
    }
    return n;
  }

  /** How many ranks the smallest island has. */
  public int smallestIsland() {
    return Arrays.stream(islands).mapToInt(i -> i.length).min().orElse(0);
  }

  /** The ranks in the order in which part {@code part} of a vector is reduced. */
  public int[] order(int part) {
    int[] order = new int[size()];
    int n = 0;
    for (int i = 1; i <= islands.length; i++) {
      for (int r : islands[(part + i) % islands.length]) {
        order[n++] = r;
      }
    }
    return order;
  }

  /** The first of them. */
  public int first(int part) {
    return islands[(part + 1) % islands.length][0];
  }
}
