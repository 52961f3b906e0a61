package dev.millrace.tensor.math.conv;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.Specialized;
import dev.millrace.tensor.math.gemm.FloatTile;
import dev.millrace.tensor.math.reduce.ChannelSum;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The gradients of a convolution of floats whose output goes through relu and max pooling. Of all
 * outputs under one window only the largest has a gradient, so that three in four products, or
 * more, are with zero. They are left out here: for each filter there is a list of the places where
 * it has a gradient. The patches of the input there, times these, are the gradient of the filter;
 * the filter, times these and put there, is that of the input.
 *
 * <p>The patch of a place is, for each row of the filter, a <em>strip</em>: neighbouring floats of
 * the padded image, all columns and channels. With the filter as [rows, filters, columns, channels]
 * its strips lie alike. So all there is to do is to add up strips, each times a gradient.
 *
 * <p>Images are taken in bands of windows whose strips fit the first cache.
 *
 * <p>Threading: pieces of the batch are spread over the threads of {@link Parallel}; the result
 * depends on how many threads there are, not on which does what.
 */
record PooledConv(Conv2D conv, ImagePool pool) {
  /** The loops over strips of some number of vectors, which are given by their addresses. */
  interface Strips {
    /** Adds to the strip at {@code sum} those of x that the list names, times their factors. */
    void collect(long list, long end, long x, long sum);

    /** Adds {@code strip}, times their factors, to those of x that the list names. */
    void spread(long list, long end, long strip, long x);
  }

  /** Bytes of an entry of a list: the factor, a float, and where the strip begins, an int. */
  static final int ENTRY = 8;

  private static final int MAX_VECTORS = 12;
  private static final int MIN_VECTORS = 4;
  private static final long BAND_BYTES = 20 << 10;
  private static final int PIECES_PER_THREAD = 4;

  /** Where a strip begins is an int. */
  private static final long MAX_IMAGE = 1 << 30;

  /** Bytes of a filter that stays in the second cache while images go by. */
  private static final long MAX_FILTER = 512 << 10;

  /** Entries of a list that are worth fetching a strip and putting it back. */
  private static final int MIN_ENTRIES = 8;

  /** One output in so many must have a gradient at most, else all are computed. */
  private static final int SPARSE = 4;

  private static final AtomicReferenceArray<Strips> LOOPS =
      new AtomicReferenceArray<>(MAX_VECTORS + 1);

  /** Whether the gradients can be computed here, and with profit. */
  boolean isWorthIt() {
    return conv.groups() == 1
        && conv.rows().dilation() == 1
        && conv.columns().dilation() == 1
        && conv.channels() % FloatTile.INSTANCE.lanes() == 0
        && vectors() >= MIN_VECTORS
        && imageBytes() <= MAX_IMAGE
        && 4 * conv.filterElements() <= MAX_FILTER
        && bandRows() * pool.outputWidth() >= MIN_ENTRIES
        && SPARSE * windows() <= (long) conv.outputHeight() * conv.outputWidth();
  }

  /** How many vectors the loops take at a time: as many as fit the registers and divide a strip. */
  private int vectors() {
    int all = conv.columns().size() * conv.channels() / FloatTile.INSTANCE.lanes();
    int n = Math.min(all, MAX_VECTORS);
    while (all % n != 0) {
      n--;
    }
    return n;
  }

  private Strips loops() {
    int n = vectors();
    Strips found = LOOPS.get(n);
    if (found == null) {
      LOOPS.compareAndSet(
          n, null, Specialized.copy(MethodHandles.lookup(), Strips.class, StripLoop.class, n));
      found = LOOPS.get(n);
    }
    return found;
  }

  /** See {@link ConvLayer#backward}. */
  void backward(
      MemorySegment input,
      MemorySegment filter,
      MemorySegment output,
      MemorySegment pooled,
      MemorySegment pooledGradient,
      MemorySegment inputGradient,
      MemorySegment filterGradient,
      MemorySegment biasGradient) {
    int threads = conv.pieces();
    int pieces = threads == 1 ? 1 : Math.min(conv.batch(), PIECES_PER_THREAD * threads);
    long filterBytes = 4 * conv.filterElements();
    long biasBytes = 4L * conv.filters();
    boolean toInput = inputGradient != null;
    Buffer turned = toInput ? BufferPool.current().allocate(filterBytes) : null;
    Buffer filters = BufferPool.current().allocate(pieces * filterBytes);
    Buffer biases = BufferPool.current().allocate(pieces * biasBytes);
    try {
      MemorySegment sums = filters.memory().asSlice(0, pieces * filterBytes);
      MemorySegment biasSums = biases.memory().asSlice(0, pieces * biasBytes);
      biasSums.fill((byte) 0);
      if (toInput) {
        turn(filter, stripFloats(), conv.filters(), turned.memory());
      }
      Parallel.each(
          pieces,
          p -> {
            MemorySegment sum = sums.asSlice(p * filterBytes, filterBytes);
            sum.fill((byte) 0);
            try (PooledImage image =
                new PooledImage(
                    this, loops(), sum, biasSums.asSlice(p * biasBytes, biasBytes), turned)) {
              for (int i = conv.firstImage(p, pieces); i < conv.firstImage(p + 1, pieces); i++) {
                image.run(i, input, output, pooled, pooledGradient, inputGradient);
              }
            }
          });
      if (pieces > 1) {
        conv.add(pieces - 1, sums.asSlice(filterBytes), sums);
      }
      turn(sums, conv.filters(), stripFloats(), filterGradient);
      biasGradient.fill((byte) 0);
      ChannelSum.addHere(biasSums, biasGradient, conv.filters());
    } finally {
      biases.release();
      filters.release();
      if (toInput) {
        turned.release();
      }
    }
  }

  /** Transposes the matrix {@code height x width} that each row of the filter is. */
  private void turn(MemorySegment from, int height, int width, MemorySegment to) {
    int tile = 16;
    int down = (height + tile - 1) / tile;
    Parallel.run(
        (long) conv.rows().size() * down,
        1L << 10,
        (first, last) -> {
          for (long t = first; t < last; t++) {
            long row = t / down * height * width;
            int i0 = (int) (t % down) * tile;
            int i1 = Math.min(height, i0 + tile);
            for (int j = 0; j < width; j++) {
              for (int i = i0; i < i1; i++) {
                float v = from.getAtIndex(ValueLayout.JAVA_FLOAT, row + (long) i * width + j);
                to.setAtIndex(ValueLayout.JAVA_FLOAT, row + (long) j * height + i, v);
              }
            }
          }
        });
  }

  private long windows() {
    return (long) pool.outputHeight() * pool.outputWidth();
  }

  /** Floats under a row of the filter. */
  int stripFloats() {
    return conv.columns().size() * conv.channels();
  }

  /** Bytes of a strip that the loops take at a time. */
  int loopBytes() {
    return vectors() * 4 * FloatTile.INSTANCE.lanes();
  }

  int pixelBytes() {
    return 4 * conv.channels();
  }

  /** Bytes from one row of a padded image to the next. */
  long rowBytes() {
    Window w = conv.columns();
    return (long) (w.before() + conv.width() + w.after()) * pixelBytes();
  }

  /** Bytes of a padded image. */
  long imageBytes() {
    Window w = conv.rows();
    return (w.before() + conv.height() + w.after()) * rowBytes();
  }

  /** Rows of windows in a band. */
  int bandRows() {
    long each = (long) pool.rows().stride() * conv.rows().stride() * rowBytes();
    return Math.clamp(BAND_BYTES / each, 1, pool.outputHeight());
  }
}
