package dev.millrace.ops.random;

import dev.millrace.graph.Node;
import dev.millrace.tensor.math.random.Philox;
import java.security.SecureRandom;

/**
 * The place a stateful random op has reached in its sequence. Every execution takes a part and
 * leaves the rest to the next; a session that makes its kernels anew begins anew.
 *
 * <p>Threading: any thread may take a part; no two get the same.
 */
final class SeededState {
  /** Counters set aside for each element, used or not: as many as TensorFlow does. */
  static final long PER_ELEMENT = 256;

  private static final SecureRandom ENTROPY = new SecureRandom();

  private Philox next;

  /** The state of a node with TensorFlow's two seed attributes; both 0 mean no seed at all. */
  SeededState(Node node) {
    long seed = node.longAttr("seed");
    long seed2 = node.longAttr("seed2");
    next =
        seed == 0 && seed2 == 0
            ? Philox.ofSeeds(ENTROPY.nextLong(), ENTROPY.nextLong())
            : Philox.ofSeeds(seed, seed2);
  }

  /** A part of the sequence, {@code counters} long. */
  synchronized Philox take(long counters) {
    Philox part = next;
    next = part.skipped(counters);
    return part;
  }
}
