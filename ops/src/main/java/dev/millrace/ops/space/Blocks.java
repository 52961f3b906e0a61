package dev.millrace.ops.space;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;

/**
 * How the spatial dimensions 1 to n of a tensor are cut into blocks. The elements at one place of
 * all blocks form a batch of their own. {@code margins} are the rows before and after each spatial
 * dimension that complete its first and last block: padding towards batches, crops towards space.
 */
final class Blocks {
  private final long[] block;
  private final long[] margins;

  /** Checks the sizes, as rows of {@code margins} hold what lies before and after. */
  Blocks(long[] block, long[] margins) {
    this.block = block;
    this.margins = margins;
    for (int i = 0; i < block.length; i++) {
      if (block[i] < 1) {
        throw MillraceException.invalid(
            "All values in block_shape must be positive, got value, %d at index %d.", block[i], i);
      }
      if (!isMargin(margins[2 * i]) || !isMargin(margins[2 * i + 1])) {
        throw MillraceException.invalid(
            "Paddings and crops must be non-negative and less than 2^31; those of spatial dimension"
                + " %d are %d and %d.",
            i, margins[2 * i], margins[2 * i + 1]);
      }
    }
  }

  private static boolean isMargin(long size) {
    return size >= 0 && size <= Integer.MAX_VALUE;
  }

  private long places() {
    long n = 1;
    for (long b : block) {
      n = times(n, b);
    }
    return n;
  }

  /** The shape that a tensor of shape {@code space} has after its blocks moved to the batch. */
  Shape toBatch(Shape space) {
    Shape result = space.withDim(0, times(space.dim(0), places()));
    for (int i = 0; i < block.length; i++) {
      long size = space.dim(i + 1);
      if (size >= 0) {
        long padded = size + margins[2 * i] + margins[2 * i + 1];
        if (padded % block[i] != 0) {
          throw MillraceException.invalid(
              "padded_shape[%d]=%d is not divisible by block_shape[%d]=%d; the input has shape %s.",
              i, padded, i, block[i], space);
        }
        result = result.withDim(i + 1, padded / block[i]);
      }
    }
    return result;
  }

  /** The shape that a tensor of shape {@code batch} has after its batches moved to space. */
  Shape toSpace(Shape batch) {
    long places = places();
    long size = batch.dim(0);
    if (size >= 0 && size % places != 0) {
      throw MillraceException.invalid(
          "Input batch dimension (%d) is not divisible by product of block sizes (%d); the input"
              + " has shape %s.",
          size, places, batch);
    }
    Shape result = batch.withDim(0, size < 0 ? size : size / places);
    for (int i = 0; i < block.length; i++) {
      if (batch.dim(i + 1) >= 0) {
        long whole = times(batch.dim(i + 1), block[i]);
        long cropped = whole - margins[2 * i] - margins[2 * i + 1];
        if (cropped < 0) {
          throw MillraceException.invalid(
              "cropped_shape[%d]=%d must be non-negative: crops %d and %d are more than the %d rows"
                  + " there are.",
              i, cropped, margins[2 * i], margins[2 * i + 1], whole);
        }
        result = result.withDim(i + 1, cropped);
      }
    }
    return result;
  }

  /** The product of a size, which may be unknown, and a factor; refuses one beyond 63 bits. */
  static long times(long size, long factor) {
    if (Math.multiplyHigh(size, factor) != (size * factor) >> 63) {
      throw MillraceException.invalid(
          "Blocks are too large: %d * %d elements along one dimension.", size, factor);
    }
    return size < 0 ? size : size * factor;
  }

  /** Copies {@code space} to {@code batch}, whose padding is left as it is. */
  void copyToBatch(Tensor space, Tensor batch) {
    copy(space.shape(), batch.shape(), space, batch, true);
  }

  /** Copies {@code batch} to {@code space}, all of which is written. */
  void copyToSpace(Tensor batch, Tensor space) {
    copy(space.shape(), batch.shape(), batch, space, false);
  }

  private void copy(Shape space, Shape batch, Tensor from, Tensor to, boolean toBatch) {
    int n = block.length;
    long[] spaceStrides = StridedCopy.rowMajor(space.dims());
    long[] batchStrides = StridedCopy.rowMajor(batch.dims());
    long[] steps = spaceStrides.clone();
    for (int i = 0; i < n; i++) {
      steps[i + 1] *= block[i];
    }
    long places = places();
    for (long place = 0; place < places; place++) {
      long[] dims = space.dims();
      long spaceStart = 0;
      long batchStart = place * space.dim(0) * batchStrides[0];
      long rest = place;
      for (int i = n - 1; i >= 0; i--) {
        // Row r of this place lies at r * block + offset of the space.
        long offset = rest % block[i] - margins[2 * i];
        rest /= block[i];
        long first = Math.max(0, Math.ceilDiv(-offset, block[i]));
        long end = Math.min(batch.dim(i + 1), Math.ceilDiv(space.dim(i + 1) - offset, block[i]));
        dims[i + 1] = Math.max(0, end - first);
        spaceStart += (first * block[i] + offset) * spaceStrides[i + 1];
        batchStart += first * batchStrides[i + 1];
      }
      if (toBatch) {
        StridedCopy.copy(dims, from, spaceStart, steps, to, batchStart, batchStrides);
      } else {
        StridedCopy.copy(dims, from, batchStart, batchStrides, to, spaceStart, steps);
      }
    }
  }
}
