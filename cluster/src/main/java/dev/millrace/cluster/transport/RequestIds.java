package dev.millrace.cluster.transport;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.util.HashSet;
import java.util.Set;

/**
 * The ids of the last requests, so that one delivered twice is not carried out twice.
 *
 * <p>Threading: any thread.
 */
final class RequestIds {
  private final long[] ring;
  private final Set<Long> known = new HashSet<>();
  private int next;

  RequestIds(int remembered) {
    ring = new long[remembered];
  }

  /** Refuses an id seen before; 0 means the caller does not want the check. */
  synchronized void check(String method, long id) {
    if (id == 0) {
      return;
    }
    if (!known.add(id)) {
      throw new MillraceException(
          Code.ABORTED, "The same " + method + " request was received twice.");
    }
    known.remove(ring[next]);
    ring[next] = id;
    next = (next + 1) % ring.length;
  }
}
