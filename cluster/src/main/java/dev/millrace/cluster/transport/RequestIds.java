package dev.millrace.cluster.transport;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.worker.RecentIds;

/**
 * The ids of the last requests, so that one delivered twice is not carried out twice.
 *
 * <p>Threading: any thread.
 */
final class RequestIds {
  private final RecentIds seen;

  RequestIds(int remembered) {
    seen = new RecentIds(remembered);
  }

  /** Refuses an id seen before; 0 means the caller does not want the check. */
  void check(String method, long id) {
    if (id != 0 && !seen.add(id)) {
      throw new MillraceException(
          Code.ABORTED, "The same " + method + " request was received twice.");
    }
  }
}
