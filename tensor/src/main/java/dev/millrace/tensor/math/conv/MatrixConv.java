package dev.millrace.tensor.math.conv;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.elementwise.AddScaled;
import dev.millrace.tensor.math.gemm.Gemm;
import dev.millrace.tensor.math.gemm.GemmTile;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Convolutions as matrix products. What the filter sees at one place of the output is a row of a
 * matrix of patches, the filter a matrix with a row for each position and channel, and so:
 *
 * <ul>
 *   <li>output = patches * filter
 *   <li>gradient of the filter = patches^T * gradient of the output
 *   <li>gradient of the patches = gradient of the output * filter^T, added up where they overlap
 * </ul>
 *
 * <p>Patches are gathered for a few rows of the output at a time, so that they stay in the cache.
 */
final class MatrixConv {
  private static final long PATCH_BYTES = 512 << 10;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;

  private final Conv2D conv;
  private final int bytes;
  private final int outputHeight;
  private final int outputWidth;

  /** At each output column, the positions of the filter that lie in the image: from and to. */
  private final int[] firstColumn;

  private final int[] lastColumn;
  private final MemorySegment input;
  private final MemorySegment patches;

  private MatrixConv(Conv2D conv, MemorySegment input, MemorySegment patches) {
    this.conv = conv;
    this.bytes = conv.type().bytes();
    this.outputHeight = conv.outputHeight();
    this.outputWidth = conv.outputWidth();
    this.firstColumn = new int[outputWidth];
    this.lastColumn = new int[outputWidth];
    for (int x = 0; x < outputWidth; x++) {
      lastColumn[x] = conv.columns().lastInside(x, conv.width());
      firstColumn[x] = Math.min(conv.columns().firstInside(x), lastColumn[x]);
    }
    this.input = input;
    this.patches = patches;
  }

  /** Elements of a patch: what a filter sees of the channels of its group. */
  private static int patch(Conv2D c) {
    return c.rows().size() * c.columns().size() * (c.channels() / c.groups());
  }

  /**
   * Prepares to compute images of floats, doubles or ints. {@code alone}: products may use other
   * threads.
   */
  static ConvRuns runs(Conv2D conv, ConvResult result, MemorySegment filter, boolean alone) {
    return new ConvRuns() {
      private boolean add;

      @Override
      public void run(MemorySegment input, MemorySegment output) {
        MatrixConv.run(conv, result, input, filter, output, add, alone);
        if (result == ConvResult.FILTER) {
          add = true;
        }
      }

      @Override
      public void finish() {}

      @Override
      public void close() {}
    };
  }

  private static void run(
      Conv2D conv,
      ConvResult result,
      MemorySegment input,
      MemorySegment filter,
      MemorySegment output,
      boolean add,
      boolean alone) {
    if (isPointwise(conv)) {
      int pixels = conv.batch() * conv.height() * conv.width();
      multiply(conv, 0, result, pixels, input, filter, output, add, alone);
      return;
    }
    long rowBytes = (long) conv.outputWidth() * patch(conv) * conv.type().bytes();
    int rows = Math.clamp(PATCH_BYTES / rowBytes, 1, conv.outputHeight());
    Buffer scratch = BufferPool.current().allocate(rows * rowBytes);
    try {
      new MatrixConv(conv, input, scratch.memory()).run(result, rows, filter, output, add, alone);
    } finally {
      scratch.release();
    }
  }

  /** Whether a patch is just a pixel. */
  private static boolean isPointwise(Conv2D c) {
    Window pixel = Window.valid(1, 1, 1);
    return c.rows().equals(pixel) && c.columns().equals(pixel) && c.groups() == 1;
  }

  private void run(
      ConvResult result,
      int rows,
      MemorySegment filter,
      MemorySegment output,
      boolean addAll,
      boolean alone) {
    long imageBytes = (long) conv.height() * conv.width() * conv.channels() * bytes;
    if (result == ConvResult.INPUT) {
      input.asSlice(0, conv.batch() * imageBytes).fill((byte) 0);
    }
    long outputRowBytes = (long) outputWidth * conv.filters() * bytes;
    for (int image = 0; image < conv.batch(); image++) {
      for (int y = 0; y < outputHeight; y += rows) {
        int height = Math.min(rows, outputHeight - y);
        int pixels = height * outputWidth;
        long at = ((long) image * outputHeight + y) * outputRowBytes;
        MemorySegment out = output.asSlice(at, height * outputRowBytes);
        boolean add = addAll || (result == ConvResult.FILTER && (image > 0 || y > 0));
        for (int group = 0; group < conv.groups(); group++) {
          if (result != ConvResult.INPUT) {
            walk(group, image * imageBytes, y, height, false);
          }
          multiply(conv, group, result, pixels, patches, filter, out, add, alone);
          if (result == ConvResult.INPUT) {
            walk(group, image * imageBytes, y, height, true);
          }
        }
      }
    }
  }

  private static void multiply(
      Conv2D conv,
      int group,
      ConvResult result,
      int pixels,
      MemorySegment patches,
      MemorySegment filter,
      MemorySegment output,
      boolean add,
      boolean alone) {
    DType t = conv.type();
    int patch = patch(conv);
    int all = conv.filters();
    // The group's filters are some columns of both matrices.
    int own = all / conv.groups();
    MemorySegment w = filter.asSlice((long) group * own * t.bytes());
    MemorySegment y = output.asSlice((long) group * own * t.bytes());
    switch (result) {
      case OUTPUT ->
          new Gemm(t, false, false, pixels, own, patch, patch, all, all)
              .multiply(patches, w, y, false, alone);
      case FILTER ->
          new Gemm(t, true, false, patch, own, pixels, patch, all, all)
              .multiply(patches, y, w, add, alone);
      case INPUT ->
          new Gemm(t, false, true, pixels, patch, own, all, all, patch)
              .multiply(y, w, patches, false, alone);
    }
  }

  /** Gathers the patches of some rows of the output from an image, or adds them to it. */
  private void walk(int group, long imageAt, int y, int height, boolean back) {
    Window rows = conv.rows();
    long rowBytes = (long) conv.width() * conv.channels() * bytes;
    int channels = conv.channels() / conv.groups();
    int line = conv.columns().size() * channels;
    long groupAt = imageAt + (long) group * channels * bytes;
    long at = 0;
    for (int out = y; out < y + height; out++) {
      int top = out * rows.stride() - rows.before();
      int first = rows.firstInside(out);
      int last = rows.lastInside(out, conv.height());
      for (int x = 0; x < outputWidth; x++) {
        for (int r = 0; r < rows.size(); r++) {
          if (r >= first && r < last) {
            line(groupAt + (top + r * rows.dilation()) * rowBytes, x, at, back);
          } else if (!back) {
            clear(at, line);
          }
          at += (long) line * bytes;
        }
      }
    }
  }

  /** Moves what one row of the filter sees of a row of the image at output column {@code x}. */
  private void line(long rowAt, int x, long at, boolean back) {
    Window columns = conv.columns();
    int channels = conv.channels() / conv.groups();
    int first = firstColumn[x];
    int last = lastColumn[x];
    if (!back && last - first < columns.size()) {
      clear(at, first * channels);
      clear(at + (long) last * channels * bytes, (columns.size() - last) * channels);
    }
    int left = x * columns.stride() - columns.before();
    if (columns.dilation() == 1 && conv.groups() == 1) {
      long from = rowAt + (long) (left + first) * channels * bytes;
      move(from, at + (long) first * channels * bytes, (last - first) * channels, back);
      return;
    }
    for (int c = first; c < last; c++) {
      long from = rowAt + (long) (left + c * columns.dilation()) * conv.channels() * bytes;
      move(from, at + (long) c * channels * bytes, channels, back);
    }
  }

  private void move(long imageAt, long patchAt, int elements, boolean back) {
    if (back && conv.type() == DType.INT32) {
      for (int i = 0; i < elements * bytes; i += 4) {
        input.set(I32, imageAt + i, input.get(I32, imageAt + i) + patches.get(I32, patchAt + i));
      }
    } else if (back && !VectorModule.isPresent()) {
      if (elements == 0) {
        return; // What the filter sees here lies beside the image.
      }
      long moved = (long) elements * bytes;
      AddScaled.plain(
          conv.type(), input.asSlice(imageAt, moved), patches.asSlice(patchAt, moved), elements);
    } else if (back) {
      GemmTile.of(conv.type())
          .store(patches.address() + patchAt, 0, input.address() + imageAt, 0, 1, elements, true);
    } else if (elements * bytes > 64) {
      MemorySegment.copy(input, imageAt, patches, patchAt, (long) elements * bytes);
    } else {
      for (int i = 0; i < elements * bytes; i += 4) {
        patches.set(I32, patchAt + i, input.get(I32, imageAt + i));
      }
    }
  }

  private void clear(long patchAt, int elements) {
    for (int i = 0; i < elements * bytes; i += 4) {
      patches.set(I32, patchAt + i, 0);
    }
  }
}
