package dev.millrace.tensor.math.conv;

import dev.millrace.tensor.math.Parallel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * Pools floats by plain loops, for a JVM without the Vector API. Images are copied into arrays one
 * at a time; the innermost loops run along the channels.
 *
 * <p>Threading: images are spread over the threads of {@link Parallel}, each with arrays of its
 * own.
 */
final class PlainPool {
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;

  /** Elements of an image up to which arrays are used. */
  private static final long MOST = 1 << 24;

  private final ImagePool pool;
  private final int channels;

  /** The larger image and the pooled one. */
  private final float[] large;

  private final float[] small;

  private PlainPool(ImagePool pool) {
    this.pool = pool;
    this.channels = pool.channels();
    this.large = new float[pool.height() * pool.width() * channels];
    this.small = new float[pool.outputHeight() * pool.outputWidth() * channels];
  }

  static boolean suits(ImagePool pool) {
    return (long) pool.height() * pool.width() * pool.channels() <= MOST
        && (long) pool.outputHeight() * pool.outputWidth() * pool.channels() <= MOST;
  }

  /** Something to do with each window of an image: {@code out} is its place in the small one. */
  private interface AtPlace {
    void run(ImagePool.Place place, int out);
  }

  static void max(ImagePool pool, MemorySegment x, MemorySegment y) {
    forImages(
        pool,
        (p, image) -> {
          p.load(x, image, p.large);
          Arrays.fill(p.small, -Float.MAX_VALUE);
          p.forPlaces(p::max);
          p.store(p.small, y, image);
        });
  }

  static void mean(ImagePool pool, MemorySegment x, MemorySegment y) {
    forImages(
        pool,
        (p, image) -> {
          p.load(x, image, p.large);
          Arrays.fill(p.small, 0);
          p.forPlaces(p::mean);
          p.store(p.small, y, image);
        });
  }

  /** Adds to {@code dx}. */
  static void meanGradient(ImagePool pool, MemorySegment dy, MemorySegment dx) {
    forImages(
        pool,
        (p, image) -> {
          p.load(dy, image, p.small);
          p.load(dx, image, p.large);
          p.forPlaces(p::spread);
          p.store(p.large, dx, image);
        });
  }

  /** Sets {@code dx}, see {@link ImagePool#maxGradient}. */
  static void maxGradient(
      ImagePool pool, MemorySegment x, MemorySegment dy, boolean ofRelu, MemorySegment dx) {
    forImages(
        pool,
        (p, image) -> {
          p.load(x, image, p.large);
          p.load(dy, image, p.small);
          float[] result = new float[p.large.length];
          float[] best = new float[p.channels];
          int[] where = new int[p.channels];
          p.forPlaces(
              (place, out) -> {
                p.argMax(place, best, where);
                for (int c = 0; c < best.length; c++) {
                  if (!ofRelu || best[c] > 0) {
                    result[where[c]] += p.small[out + c];
                  }
                }
              });
          p.store(result, dx, image);
        });
  }

  private interface OfImage {
    void run(PlainPool p, int image);
  }

  private static void forImages(ImagePool pool, OfImage work) {
    Parallel.run(
        pool.batch(),
        1,
        (from, to) -> {
          PlainPool p = new PlainPool(pool);
          for (long image = from; image < to; image++) {
            work.run(p, (int) image);
          }
        });
  }

  private void load(MemorySegment from, int image, float[] to) {
    MemorySegment.copy(from, F32, 4L * image * to.length, to, 0, to.length);
  }

  private void store(float[] from, MemorySegment to, int image) {
    MemorySegment.copy(from, 0, to, F32, 4L * image * from.length, from.length);
  }

  /** Leaves out windows that lie beside the image. */
  private void forPlaces(AtPlace work) {
    int out = 0;
    for (int i = 0; i < pool.outputHeight(); i++) {
      for (int j = 0; j < pool.outputWidth(); j++, out += channels) {
        ImagePool.Place place = pool.place(i, j);
        if (place.firstRow() < place.lastRow() && place.firstColumn() < place.lastColumn()) {
          work.run(place, out);
        }
      }
    }
  }

  private void max(ImagePool.Place p, int out) {
    for (int i = p.firstRow(); i < p.lastRow(); i++) {
      for (int j = p.firstColumn(); j < p.lastColumn(); j++) {
        int at = (int) pool.index(0, i, j);
        for (int c = 0; c < channels; c++) {
          float v = large[at + c];
          small[out + c] = v > small[out + c] ? v : small[out + c];
        }
      }
    }
  }

  private void mean(ImagePool.Place p, int out) {
    for (int i = p.firstRow(); i < p.lastRow(); i++) {
      for (int j = p.firstColumn(); j < p.lastColumn(); j++) {
        int at = (int) pool.index(0, i, j);
        for (int c = 0; c < channels; c++) {
          small[out + c] += large[at + c];
        }
      }
    }
    for (int c = 0; c < channels; c++) {
      small[out + c] /= p.count();
    }
  }

  private void spread(ImagePool.Place p, int out) {
    for (int i = p.firstRow(); i < p.lastRow(); i++) {
      for (int j = p.firstColumn(); j < p.lastColumn(); j++) {
        int at = (int) pool.index(0, i, j);
        for (int c = 0; c < channels; c++) {
          large[at + c] += small[out + c] / p.count();
        }
      }
    }
  }

  /** The largest of each channel and where it is: the first; NaN if the window begins so. */
  private void argMax(ImagePool.Place p, float[] best, int[] where) {
    int first = (int) pool.index(0, p.firstRow(), p.firstColumn());
    for (int c = 0; c < best.length; c++) {
      best[c] = large[first + c];
      where[c] = first + c;
    }
    for (int i = p.firstRow(); i < p.lastRow(); i++) {
      for (int j = p.firstColumn(); j < p.lastColumn(); j++) {
        int at = (int) pool.index(0, i, j);
        for (int c = 0; c < best.length; c++) {
          float v = large[at + c];
          if (v > best[c]) {
            best[c] = v;
            where[c] = at + c;
          }
        }
      }
    }
  }
}
