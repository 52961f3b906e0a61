package dev.millrace.collective.algorithm;

import dev.millrace.collective.reduce.Reducer;
import java.lang.foreign.MemorySegment;

/**
 * One all-reduce to be done: a vector in native memory that becomes the result in place.
 *
 * @param data the vector, from its first byte
 * @param bounds where the parts begin that are reduced in different order of ranks (see {@link
 *     dev.millrace.collective.peers.Topology}), and where the last ends
 * @param reducer what is done to the elements
 * @param envelope what the other ranks must be doing too
 */
record AllReduceCall(MemorySegment data, long[] bounds, Reducer reducer, Envelope envelope) {
  long bytes() {
    return bounds[bounds.length - 1];
  }

  int parts() {
    return bounds.length - 1;
  }

  long partBytes(int part) {
    return bounds[part + 1] - bounds[part];
  }
}
