package dev.millrace.collective.peers;

/** What a thread that waits for other ranks does with its processor at first. */
public enum IdleStrategy {
  /** Keeps it: there is one for every rank, and the others are often only microseconds behind. */
  SPIN,
  /** Offers it to other ranks, of which there are more than processors. */
  YIELD,
  /** Gives it away: this rank computes on other threads, which want it more. */
  SLEEP;

  /**
   * For {@code ranks} ranks on this machine, which reduce in the {@code background} of what they
   * compute or have nothing else to do.
   */
  static IdleStrategy of(int ranks, boolean background) {
    int processors = Runtime.getRuntime().availableProcessors();
    if (background) {
      return 2 * ranks > processors ? SLEEP : SPIN;
    }
    return ranks > processors ? YIELD : SPIN;
  }
}
