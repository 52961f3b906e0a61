package dev.millrace.collective.peers;

/**
 * Where things are in the memory the ranks of one host share: a header, a cell from every rank to
 * every rank, stages for vectors on their way, circular buffers for links, and a window per rank
 * for tensors.
 *
 * @param locals how many ranks share it
 * @param windowBytes room for each rank's tensors
 */
record RegionLayout(int locals, long windowBytes) {
  static final long HEADER_BYTES = 4096;

  /** A flag and its words: two cache lines, since processors fetch them in pairs. */
  static final long CELL_BYTES = 128;

  /** One being filled, one being reduced, one being emptied. */
  static final int STAGES = 3;

  /** Every rank has stages for operations of all ranks of the host, and as many for subsets. */
  private static final int STAGES_PER_RANK = 2 * STAGES;

  static final long STAGE_BYTES = 256 << 10;

  /** All links of a host together take about this much. */
  private static final long LINKS_BYTES = 8 << 20;

  /**
   * Windows and stages of the ranks lie this much further apart than their size: equal addresses
   * modulo a power of two compete for the same cache sets, which was measured to cost 2 to 18 times
   * the time.
   */
  private static final long STAGGER_BYTES = 5 * 4096 + 17 * 64;

  long cell(int from, int to) {
    return HEADER_BYTES + ((long) from * locals + to) * CELL_BYTES;
  }

  long stage(int local, int which) {
    long perRank = STAGES_PER_RANK * STAGE_BYTES + STAGGER_BYTES;
    return stages() + local * perRank + which * STAGE_BYTES;
  }

  long link(int from, int to) {
    return links() + ((long) from * locals + to) * SharedLink.footprint(linkBytes());
  }

  /** Capacity of one direction of one link. */
  long linkBytes() {
    long each = LINKS_BYTES / ((long) locals * locals);
    return Math.clamp(Long.highestOneBit(each), 16 << 10, 256 << 10);
  }

  long window(int local) {
    return windows() + local * (windowBytes + STAGGER_BYTES);
  }

  /** Bytes that must be backed by memory from the start; the windows follow. */
  long fixedBytes() {
    return windows();
  }

  long totalBytes() {
    return window(locals);
  }

  private long stages() {
    return page(cell(locals, 0));
  }

  private long links() {
    return page(stage(locals, 0));
  }

  private long windows() {
    return page(link(locals, 0));
  }

  private static long page(long at) {
    return (at + 4095) & -4096;
  }
}
