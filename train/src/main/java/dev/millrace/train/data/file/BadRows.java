package dev.millrace.train.data.file;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Rows that could not be read: how many may be passed over, and how many were. A row counts once,
 * however often it is read.
 *
 * <p>Threading: any thread.
 */
public final class BadRows {
  private static final Logger LOG = LoggerFactory.getLogger(BadRows.class);

  /** So many are logged each by itself. */
  private static final int LOGGED = 10;

  private record Place(Path file, long offset) {}

  private final int limit;
  private final Set<Place> found = ConcurrentHashMap.newKeySet();

  private BadRows(int limit) {
    this.limit = limit;
  }

  /** Up to {@code limit} rows are passed over; the next one is an error. */
  public static BadRows upTo(int limit) {
    if (limit < 0) {
      throw MillraceException.invalid("At least 0 bad rows can be passed over, not %d.", limit);
    }
    return new BadRows(limit);
  }

  /** How many there were so far. */
  public int count() {
    return found.size();
  }

  /** Counts the row at {@code offset} of {@code file}; fails if there are too many. */
  public void add(Path file, long offset, MillraceException why) {
    int n;
    synchronized (found) {
      Place place = new Place(file, offset);
      if (found.contains(place)) {
        return;
      }
      // One too many is not noted: whoever reads it again fails again.
      if (found.size() == limit) {
        throw limit == 0 ? why : tooMany(why);
      }
      found.add(place);
      n = found.size();
    }
    if (n <= LOGGED) {
      LOG.warn("A bad row is passed over: {}", why.getMessage());
      if (n == LOGGED) {
        LOG.warn("Further bad rows, up to {}, are counted only.", limit);
      }
    }
  }

  private MillraceException tooMany(MillraceException why) {
    return new MillraceException(
        Code.INVALID_ARGUMENT,
        "More than "
            + limit
            + " rows of the input are bad, as many as may be passed over. The last: "
            + why.getMessage(),
        why);
  }
}
