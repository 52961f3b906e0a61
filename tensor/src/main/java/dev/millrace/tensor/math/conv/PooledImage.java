package dev.millrace.tensor.math.conv;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * The gradients of one image after the other for {@link PooledConv}, with the memory that takes.
 *
 * <p>Threading: one thread at a time.
 */
final class PooledImage implements AutoCloseable {
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;
  private static final int STEP = S.vectorByteSize();
  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

  private final PooledConv layer;
  private final Conv2D conv;
  private final ImagePool pool;
  private final PooledConv.Strips strips;
  private final MemorySegment filterSum;
  private final MemorySegment biasSum;

  /**
   * The filter with a strip for each row and filter; null if no gradient of the input is wanted.
   */
  private final MemorySegment filter;

  private final long rowBytes;

  /** Bytes under a row of the filter, and how many of them the loops take at a time. */
  private final int stripBytes;

  private final int loopBytes;
  private final int outputWidth;

  /** Places that the filter has in an image, row by row. */
  private final int places;

  private final Buffer image;

  /** Where the patch of each place begins in the padded image, as ints. */
  private final Buffer offsets;

  /** For each filter room for the places of a band, and where its list ends, as a long. */
  private final long listBytes;

  private final Buffer lists;
  private final Buffer ends;

  /** The gradient of the image, padded like it; null if it is not wanted. */
  private final Buffer gradient;

  /** Where the outputs and the windows of the image begin, in bytes. */
  private long firstOutput;

  private long firstWindow;

  /** A vector of gradients and one of places on their way to the lists. */
  private final Buffer found = BufferPool.current().allocate(2L * STEP);

  PooledImage(
      PooledConv layer,
      PooledConv.Strips strips,
      MemorySegment filterSum,
      MemorySegment biasSum,
      Buffer filter) {
    this.layer = layer;
    this.conv = layer.conv();
    this.pool = layer.pool();
    this.strips = strips;
    this.filterSum = filterSum;
    this.biasSum = biasSum;
    this.filter = filter == null ? null : filter.memory();
    this.rowBytes = layer.rowBytes();
    this.stripBytes = 4 * layer.stripFloats();
    this.loopBytes = layer.loopBytes();
    this.outputWidth = conv.outputWidth();
    this.places = conv.outputHeight() * outputWidth;
    this.image = BufferPool.current().allocate(layer.imageBytes());
    this.offsets = BufferPool.current().allocate(4L * places);
    // Each list has one more entry, for what is written and not counted.
    this.listBytes = PooledConv.ENTRY * (1L + (long) layer.bandRows() * pool.outputWidth());
    this.lists = BufferPool.current().allocate(conv.filters() * listBytes);
    this.ends = BufferPool.current().allocate(8L * conv.filters());
    this.gradient = filter == null ? null : BufferPool.current().allocate(layer.imageBytes());
    image.memory().fill((byte) 0);
    for (int place = 0; place < places; place++) {
      long row = (long) (place / outputWidth) * conv.rows().stride() * rowBytes;
      int column = place % outputWidth * conv.columns().stride() * layer.pixelBytes();
      offsets.memory().setAtIndex(INT, place, (int) row + column);
    }
  }

  /** Adds to the sums and sets {@code dx}, if it is not null, for one image of the batch. */
  void run(
      int index,
      MemorySegment x,
      MemorySegment y,
      MemorySegment best,
      MemorySegment dBest,
      MemorySegment dx) {
    long imageAt = (long) index * conv.height() * conv.width() * layer.pixelBytes();
    firstOutput = 4L * index * places * conv.filters();
    firstWindow = 4L * index * pool.outputHeight() * pool.outputWidth() * conv.filters();
    copyRows(x, imageAt, image.memory(), true);
    if (dx != null) {
      gradient.memory().asSlice(0, layer.imageBytes()).fill((byte) 0);
    }
    for (int row = 0; row < pool.outputHeight(); row += layer.bandRows()) {
      list(row, Math.min(pool.outputHeight(), row + layer.bandRows()), y, best, dBest);
      addStrips(false);
      if (dx != null) {
        addStrips(true);
      }
    }
    if (dx != null) {
      copyRows(dx, imageAt, gradient.memory(), false);
    }
  }

  /** Copies the rows of an image into its padded form, or out of it. */
  private void copyRows(MemorySegment images, long imageAt, MemorySegment padded, boolean in) {
    long bytes = (long) conv.width() * layer.pixelBytes();
    for (int r = 0; r < conv.height(); r++) {
      long inner =
          (conv.rows().before() + r) * rowBytes
              + (long) conv.columns().before() * layer.pixelBytes();
      if (in) {
        MemorySegment.copy(images, imageAt + r * bytes, padded, inner, bytes);
      } else {
        MemorySegment.copy(padded, inner, images, imageAt + r * bytes, bytes);
      }
    }
  }

  /** Lists the largest outputs under some rows of windows, if they are above zero. */
  private void list(
      int firstRow, int lastRow, MemorySegment y, MemorySegment best, MemorySegment dBest) {
    for (int f = 0; f < conv.filters(); f++) {
      ends.memory().setAtIndex(LONG, f, f * listBytes);
    }
    for (int i = firstRow; i < lastRow; i++) {
      for (int j = 0; j < pool.outputWidth(); j++) {
        long at = firstWindow + 4L * (i * pool.outputWidth() + j) * conv.filters();
        for (int f = 0; f < conv.filters(); f += S.length()) {
          find(i, j, f, y, best, dBest, at + 4L * f);
          append(f);
        }
      }
    }
  }

  /**
   * Finds, for a vector of filters, where the first largest output of a window is. What is found is
   * taken out by a NaN, which equals nothing. The loop carries two vectors and no mask: more would
   * be boxed. Places are ints in the bits of floats, so those found are not negative.
   */
  private void find(
      int i, int j, int filter, MemorySegment y, MemorySegment best, MemorySegment dBest, long at) {
    ImagePool.Place window = pool.place(i, j);
    FloatVector largest = FloatVector.fromMemorySegment(S, best, at, LE);
    FloatVector wanted = largest.blend(Float.NaN, largest.compare(VectorOperators.LE, 0f));
    FloatVector where = FloatVector.broadcast(S, -1f);
    for (int r = window.firstRow(); r < window.lastRow(); r++) {
      for (int c = window.firstColumn(); c < window.lastColumn(); c++) {
        int place = r * outputWidth + c;
        long outputAt = firstOutput + 4L * ((long) place * conv.filters() + filter);
        VectorMask<Float> here =
            FloatVector.fromMemorySegment(S, y, outputAt, LE).compare(VectorOperators.EQ, wanted);
        where = where.blend(Float.intBitsToFloat(place), here);
        wanted = wanted.blend(Float.NaN, here);
      }
    }
    VectorMask<Float> none = where.compare(VectorOperators.LT, 0f);
    FloatVector gradients = FloatVector.fromMemorySegment(S, dBest, at, LE).blend(0f, none);
    FloatVector.fromMemorySegment(S, biasSum, 4L * filter, LE)
        .add(gradients)
        .intoMemorySegment(biasSum, 4L * filter, LE);
    gradients.intoMemorySegment(found.memory(), 0, LE);
    where.blend(0f, none).intoMemorySegment(found.memory(), STEP, LE);
  }

  /** Appends what was found for a vector of filters to the lists; zeros are not counted. */
  private void append(int firstFilter) {
    MemorySegment from = found.memory();
    for (int lane = 0; lane < S.length(); lane++) {
      int f = firstFilter + lane;
      int g = from.getAtIndex(INT, lane);
      int place = from.getAtIndex(INT, S.length() + lane);
      int more = g << 1 == 0 ? 0 : PooledConv.ENTRY;
      long entry = Integer.toUnsignedLong(g) | (long) offsets.memory().getAtIndex(INT, place) << 32;
      long end = ends.memory().getAtIndex(LONG, f);
      lists.memory().set(LONG, end, entry);
      ends.memory().setAtIndex(LONG, f, end + more);
    }
  }

  /** Adds to the gradient of the filter or to that of the input, a strip after the other. */
  private void addStrips(boolean toInput) {
    long list = lists.memory().address();
    long x = (toInput ? gradient : image).memory().address();
    long filters = (toInput ? filter : filterSum).address();
    for (int row = 0; row < conv.rows().size(); row++) {
      for (int f = 0; f < conv.filters(); f++) {
        long from = list + f * listBytes;
        long end = list + ends.memory().getAtIndex(LONG, f);
        long strip = filters + ((long) row * conv.filters() + f) * stripBytes;
        for (int s = 0; s < stripBytes && from < end; s += loopBytes) {
          if (toInput) {
            strips.spread(from, end, strip + s, x + row * rowBytes + s);
          } else {
            strips.collect(from, end, x + row * rowBytes + s, strip + s);
          }
        }
      }
    }
  }

  @Override
  public void close() {
    found.release();
    ends.release();
    lists.release();
    offsets.release();
    image.release();
    if (gradient != null) {
      gradient.release();
    }
  }
}
