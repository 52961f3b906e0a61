package dev.millrace.collective.peers;

import dev.millrace.base.Timers;
import dev.millrace.collective.member.Liveness;
import java.lang.foreign.MemorySegment;

/**
 * The ranks of a job as one of them sees the others: an ordered, reliable stream of bytes to and
 * from each. Nothing marks where one message ends; both sides know what comes next because all
 * ranks run the same collective operations in the same order.
 *
 * <p>No method waits for a peer but {@link #park}, and that only for the time given. A method that
 * finds a peer gone throws the first failure of the job (see {@link Liveness}), which need not be
 * the loss it found itself.
 *
 * <p>Threading: sending, receiving and parking belong to one thread at a time. The other methods
 * may be called from any thread.
 */
public interface RankPeers extends AutoCloseable {
  /** This rank, from 0. */
  int rank();

  /** How many ranks there are. */
  default int size() {
    return topology().size();
  }

  /** Which ranks share a host. */
  Topology topology();

  /** The clock of this rank. */
  Timers timers();

  /**
   * Takes bytes of native memory for rank {@code to} and returns how many: from 0, when the stream
   * is full, to {@code length}. Bytes taken may be overwritten by the caller at once.
   */
  long send(int to, MemorySegment data, long offset, long length);

  /** The same with {@code head} before {@code data}: both at once where that saves a call. */
  default long send(int to, MemorySegment head, MemorySegment data) {
    long n = send(to, head, 0, head.byteSize());
    return n < head.byteSize() ? n : n + send(to, data, 0, data.byteSize());
  }

  /** Stores bytes that rank {@code from} has sent; returns how many, 0 when none are there. */
  long receive(int from, MemorySegment into, long offset, long length);

  /**
   * Waits until a stream that last gave 0 may have made room or got bytes, at most about {@code
   * nanos}. May return early for no reason.
   */
  void park(long nanos);

  /** Memory shared with the other ranks on this host, or null if there is none. */
  HostGroup island();

  /** Who is alive, and what went wrong first. */
  Liveness liveness();

  /** Whether a rank has left, so that nothing more will come from it. Cheap. */
  boolean hasLeft(int rank);

  /** How waiting for others should begin. */
  IdleStrategy idling();

  /** These ranks alone, of which this must be one, renumbered from 0. Ranks must be ascending. */
  default RankPeers subset(int... ranks) {
    return new Subset(this, ranks);
  }

  /** How a rank is called in messages: its number and where it is. */
  String describe(int rank);

  /** Drops the streams. Does not wait; bytes taken by {@link #send} still go out. */
  @Override
  void close();
}
