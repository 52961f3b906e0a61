package dev.millrace.collective.peers;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * The shared memory of one host as one of its ranks uses it, with the counts of what it has posted
 * to each of the others.
 *
 * <p>Two ranks meet by counting: each adds one to its cell for the other when it reaches a point
 * both must reach, and waits until the other's count has caught up. Every pair counts for itself,
 * so any group of ranks can meet without a counter of its own.
 *
 * <p>Threading: cells belong to the thread that runs collectives; the window may be used by any.
 */
final class SharedRegion {
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  private static final VarHandle COUNT = LONG.varHandle();

  /** Words a rank can pass along when it arrives. */
  static final int WORDS = 3;

  final RegionLayout layout;
  final MemorySegment memory;
  final int me;
  final SharedWindow window;

  /** How often this rank has met each of the others. */
  private final long[] met;

  private final SharedMemory owner;

  /** Rank {@code me} of those that share {@code owner}. */
  SharedRegion(RegionLayout layout, SharedMemory owner, int me) {
    this.layout = layout;
    this.owner = owner;
    this.memory = owner.segment();
    this.me = me;
    this.window =
        new SharedWindow(owner, layout.window(me), layout.window(me) + layout.windowBytes());
    this.met = new long[layout.locals()];
  }

  /** Tells {@code other} that this rank has come to their next barrier, with three words. */
  void arrive(int other, long a, long b, long c) {
    long count = ++met[other];
    long cell = layout.cell(me, other);
    long at = words(cell, count);
    memory.set(LONG, at, a);
    memory.set(LONG, at + 8, b);
    memory.set(LONG, at + 16, c);
    COUNT.setRelease(memory, cell, count);
  }

  /** Whether {@code other} has come to the barrier this rank came to last. */
  boolean isHere(int other) {
    return (long) COUNT.getAcquire(memory, layout.cell(other, me)) >= met[other];
  }

  /** A word that {@code other} passed along when it came to that barrier. */
  long word(int other, int which) {
    return memory.get(LONG, words(layout.cell(other, me), met[other]) + 8L * which);
  }

  /** Words of even and odd meetings are apart: a rank may be one barrier ahead of another. */
  private static long words(long cell, long count) {
    return cell + 8 + (count & 1) * 8 * WORDS;
  }

  /** The link to another rank of this host. */
  PeerLink link(int other) {
    return new SharedLink(
        owner, layout.link(me, other), layout.link(other, me), layout.linkBytes());
  }
}
