package dev.millrace.collective.peers;

import dev.millrace.tensor.Buffer;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Ranks of one host that share memory, as one of them sees it. Members are numbered from 0 in order
 * of rank. They can meet, read and write each other's stages, and reduce tensors in each other's
 * windows where they lie.
 *
 * <p>Threading: as {@link RankPeers}: one thread at a time, but for {@link #allocate} and {@link
 * #offsetOf}.
 */
public class HostGroup {
  /** How many stages each member has. */
  public static final int STAGES = RegionLayout.STAGES;

  /** The size of a stage. */
  public static final long STAGE_BYTES = RegionLayout.STAGE_BYTES;

  private final SharedRegion region;
  private final int[] locals;
  private final int me;
  private final boolean whole;

  /** The members are these of the region's ranks; {@code me} is this rank's place among them. */
  private HostGroup(SharedRegion region, int[] locals, int me, boolean whole) {
    this.region = region;
    this.whole = whole;
    this.locals = locals;
    this.me = me;
  }

  /** The same members; for what comes between a rank and them. */
  protected HostGroup(HostGroup same) {
    this(same.region, same.locals, same.me, same.whole);
  }

  /** All ranks of a region. */
  static HostGroup of(SharedRegion region) {
    int[] all = new int[region.layout.locals()];
    Arrays.setAll(all, i -> i);
    return new HostGroup(region, all, region.me, true);
  }

  /** How many members there are. */
  public int size() {
    return locals.length;
  }

  /** This rank's number among the members. */
  public int me() {
    return me;
  }

  /** Comes to the members' next barrier and passes three words along. */
  public void arrive(long a, long b, long c) {
    for (int m = 0; m < locals.length; m++) {
      if (m != me) {
        tell(m, a, b, c);
      }
    }
  }

  /** Tells another member that this rank has come. */
  protected void tell(int member, long a, long b, long c) {
    region.arrive(locals[member], a, b, c);
  }

  /** Whether a member has come to the barrier this rank came to last. */
  public boolean isHere(int member) {
    return member == me || region.isHere(locals[member]);
  }

  /**
   * One of the words another member passed along when it came to that barrier. Valid until this
   * rank comes to the barrier after the next.
   */
  public long word(int member, int which) {
    return region.word(locals[member], which);
  }

  /** All of the shared memory. */
  public MemorySegment memory() {
    return region.memory;
  }

  /**
   * Whether these are all ranks of the host that share this memory. Then nobody else uses the same
   * stages; subsets share theirs with other subsets and must meet before and after using them.
   */
  public boolean isWhole() {
    return whole;
  }

  /** Where a member's stage is in {@link #memory}. */
  public long stageAt(int member, int which) {
    return region.layout.stage(locals[member], whole ? which : STAGES + which);
  }

  /**
   * A buffer in this rank's window, which all members can reach; null when there is no room. It
   * stays valid after everything else is closed, until it is released.
   */
  public Buffer allocate(long bytes) {
    return region.window.allocate(bytes);
  }

  /** Where memory is in {@link #memory} if it is in this rank's window, else -1. */
  public long offsetOf(MemorySegment segment) {
    return region.window.offsetOf(segment);
  }

  /** The island of these members alone. */
  HostGroup of(int[] members, int me) {
    int[] some = new int[members.length];
    for (int i = 0; i < some.length; i++) {
      some[i] = locals[members[i]];
    }
    return new HostGroup(region, some, me, false);
  }
}
