package dev.millrace.collective;

import dev.millrace.collective.algorithm.VectorParts;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * How several tensors lie in one vector to be reduced together. A vector is reduced in parts, each
 * in its own order of ranks, so part {@code p} of every tensor goes into part {@code p} of the
 * vector: each element is then reduced exactly as if its tensor were alone.
 */
final class Packing {
  private final int parts;
  private final long[] bounds;

  /** For tensors of these sizes; any others of the same sizes can be packed and unpacked. */
  Packing(List<Tensor> tensors, int parts) {
    this.parts = parts;
    this.bounds = new long[parts + 1];
    for (int p = 0; p < parts; p++) {
      bounds[p + 1] = bounds[p];
      for (Tensor t : tensors) {
        bounds[p + 1] +=
            VectorParts.bound(t.byteSize(), parts, p + 1)
                - VectorParts.bound(t.byteSize(), parts, p);
      }
    }
  }

  /** Where the parts of the vector begin, and where the last ends. */
  long[] bounds() {
    return bounds;
  }

  long bytes() {
    return bounds[parts];
  }

  void pack(List<Tensor> from, MemorySegment vector) {
    copy(from, vector, true);
  }

  void unpack(MemorySegment vector, List<Tensor> to) {
    copy(to, vector, false);
  }

  private void copy(List<Tensor> tensors, MemorySegment vector, boolean in) {
    long at = 0;
    for (int p = 0; p < parts; p++) {
      for (Tensor t : tensors) {
        long from = VectorParts.bound(t.byteSize(), parts, p);
        long bytes = VectorParts.bound(t.byteSize(), parts, p + 1) - from;
        if (in) {
          MemorySegment.copy(t.data(), from, vector, at, bytes);
        } else {
          MemorySegment.copy(vector, at, t.data(), from, bytes);
        }
        at += bytes;
      }
    }
  }
}
