package dev.millrace.cluster.worker;

import java.util.HashSet;
import java.util.Set;

/**
 * The last so many numbers that were added.
 *
 * <p>Threading: any thread.
 */
public final class RecentIds {
  private final long[] ring;
  private final Set<Long> known = new HashSet<>();
  private int next;

  public RecentIds(int remembered) {
    ring = new long[remembered];
  }

  /** Adds a number other than 0 in place of the oldest; returns whether it was not there. */
  public synchronized boolean add(long id) {
    if (!known.add(id)) {
      return false;
    }
    known.remove(ring[next]);
    ring[next] = id;
    next = (next + 1) % ring.length;
    return true;
  }

  public synchronized boolean contains(long id) {
    return known.contains(id);
  }
}
