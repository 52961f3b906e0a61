package dev.millrace.tensor.math.conv;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.OrderedBits;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.elementwise.TensorFill;
import java.lang.foreign.MemorySegment;
import java.util.function.IntFunction;

/**
 * The largest, or the mean, of each window of images {@code [batch, height, width, channels]},
 * channel by channel, and the gradients of both. What lies outside the image does not count.
 *
 * <p>Among the largest NaN does not count either, and no result is below the lowest finite number:
 * so it is in TensorFlow.
 *
 * <p>Floats are taken a vector of channels at a time; other types, and what is left over, one by
 * one.
 *
 * @param rows how the window moves down
 * @param columns how the window moves right
 */
public record ImagePool(
    int batch, int height, int width, int channels, Window rows, Window columns) {
  private static final long GRAIN = 1 << 14;

  /** Rows of the output. */
  public int outputHeight() {
    return rows.outputs(height);
  }

  /** Columns of the output. */
  public int outputWidth() {
    return columns.outputs(width);
  }

  /** A window at one of its places: the part of it that lies in the image. */
  record Place(int firstRow, int lastRow, int firstColumn, int lastColumn) {
    int count() {
      return (lastRow - firstRow) * (lastColumn - firstColumn);
    }
  }

  Place place(int i, int j) {
    int down = i * rows.stride() - rows.before();
    int right = j * columns.stride() - columns.before();
    return new Place(
        Math.max(down, 0),
        Math.clamp((long) down + rows.size(), 0, height),
        Math.max(right, 0),
        Math.clamp((long) right + columns.size(), 0, width));
  }

  /** What is done at one place of the window in one image. */
  private interface At {
    void run(int image, Place p, long outAt);
  }

  /** Goes through all places, rows of the output on several threads. */
  private void forPlaces(At at) {
    int h = outputHeight();
    int w = outputWidth();
    long perRow = Math.max(1, (long) w * channels * rows.size() * columns.size());
    Parallel.run(
        (long) batch * h,
        Math.max(1, GRAIN / perRow),
        (from, to) -> {
          for (long r = from; r < to; r++) {
            row((int) (r / h), (int) (r % h), at);
          }
        });
  }

  /** Goes through all places, image by image on several threads: none writes to another's image. */
  private void forImages(At at) {
    forImages(_ -> at);
  }

  private void forImages(IntFunction<At> ofImage) {
    Parallel.run(
        batch,
        1,
        (from, to) -> {
          for (long image = from; image < to; image++) {
            At at = ofImage.apply((int) image);
            for (int i = 0; i < outputHeight(); i++) {
              row((int) image, i, at);
            }
          }
        });
  }

  private void row(int image, int i, At at) {
    int w = outputWidth();
    long start = ((long) image * outputHeight() + i) * w;
    for (int j = 0; j < w; j++) {
      at.run(image, place(i, j), (start + j) * channels);
    }
  }

  long index(int image, int row, int column) {
    return (((long) image * height + row) * width + column) * channels;
  }

  /** Whether floats are pooled by {@link PlainPool}. */
  private boolean isPlain(Tensor x) {
    return !VectorModule.isPresent() && x.dtype() == DType.FLOAT && PlainPool.suits(this);
  }

  /** Sets {@code y} to the largest of each window. */
  public void max(Tensor x, Tensor y) {
    if (isPlain(x)) {
      PlainPool.max(this, x.data(), y.data());
      return;
    }
    boolean floating = x.dtype().isFloating();
    boolean vector = VectorModule.isPresent() && x.dtype() == DType.FLOAT;
    forPlaces(
        (image, p, out) -> {
          int c = vector ? PoolVectors.max(this, x.data(), y.data(), image, p, out) : 0;
          for (; c < channels; c++) {
            if (floating) {
              y.setDouble(out + c, largest(x, image, p, c));
            } else {
              TensorFill.copyElement(x, argMax(x, image, p, c), y, out + c);
            }
          }
        });
  }

  private double largest(Tensor x, int image, Place p, int c) {
    double best =
        switch (x.dtype()) {
          case DOUBLE -> -Double.MAX_VALUE;
          case HALF -> -65504;
          default -> -Float.MAX_VALUE; // As a bfloat16 that is an infinity.
        };
    for (int i = p.firstRow; i < p.lastRow; i++) {
      for (int j = p.firstColumn; j < p.lastColumn; j++) {
        double v = x.doubleAt(index(image, i, j) + c);
        best = v > best ? v : best;
      }
    }
    return best;
  }

  /** Whether floats can be pooled by {@link #maxHere} and {@link #maxGradientHere}. */
  boolean isVectorial() {
    return VectorModule.isPresent() && channels % PoolVectors.L == 0;
  }

  /** The same for another number of images. */
  ImagePool of(int images) {
    return new ImagePool(images, height, width, channels, rows, columns);
  }

  /** {@link #max} of floats on the calling thread. */
  void maxHere(MemorySegment x, MemorySegment y) {
    if (PoolByTwo.fits(this)) {
      PoolByTwo.max(this, x, y);
      return;
    }
    long out = 0;
    for (int image = 0; image < batch; image++) {
      for (int i = 0; i < outputHeight(); i++) {
        for (int j = 0; j < outputWidth(); j++, out += channels) {
          PoolVectors.max(this, x, y, image, place(i, j), out);
        }
      }
    }
  }

  /** {@link #maxGradient} of floats behind a relu on the calling thread. */
  void maxGradientHere(MemorySegment x, MemorySegment y, MemorySegment dy, MemorySegment dx) {
    if (PoolByTwo.fits(this)) {
      PoolByTwo.gradientOfRelu(this, x, y, dy, dx);
      return;
    }
    boolean tiled = isTiled();
    if (!tiled) {
      dx.fill((byte) 0);
    }
    MemorySegment[] s = {x, y, dy, dx};
    long out = 0;
    for (int image = 0; image < batch; image++) {
      for (int i = 0; i < outputHeight(); i++) {
        for (int j = 0; j < outputWidth(); j++, out += channels) {
          PoolVectors.maxGradient(this, s, true, tiled, image, place(i, j), out);
        }
      }
    }
  }

  /**
   * Where the largest element of a channel is, the first of several; NaN if the window begins so.
   */
  private long argMax(Tensor x, int image, Place p, int c) {
    boolean floating = x.dtype().isFloating();
    long best = index(image, p.firstRow, p.firstColumn) + c;
    for (int i = p.firstRow; i < p.lastRow; i++) {
      for (int j = p.firstColumn; j < p.lastColumn; j++) {
        long at = index(image, i, j) + c;
        boolean isLarger =
            floating
                ? x.doubleAt(at) > x.doubleAt(best)
                : OrderedBits.at(x, at) > OrderedBits.at(x, best);
        if (isLarger) {
          best = at;
        }
      }
    }
    return best;
  }

  /**
   * Sets {@code dx} to the gradient of each window at its largest element. A window that begins
   * with NaN has it there, but behind a relu where floats are taken by vectors.
   *
   * @param ofRelu whether windows whose largest element is not above zero have no gradient; only
   *     for floats
   */
  public void maxGradient(Tensor x, Tensor y, Tensor dy, boolean ofRelu, Tensor dx) {
    if (isPlain(x)) {
      PlainPool.maxGradient(this, x.data(), dy.data(), ofRelu, dx.data());
      return;
    }
    boolean tiled = isTiled();
    if (!tiled) {
      dx.data().fill((byte) 0);
    }
    At singly = (image, p, out) -> maxGradientSingly(x, dy, ofRelu, dx, image, p, out);
    if (x.dtype() == DType.FLOAT && isVectorial()) {
      MemorySegment[] s = {x.data(), y.data(), dy.data(), dx.data()};
      At byVectors =
          (image, p, out) -> PoolVectors.maxGradient(this, s, ofRelu, tiled, image, p, out);
      forImages(
          image -> {
            if (ofRelu || PoolVectors.windowsBeginWithNumbers(this, s[0], image)) {
              return byVectors;
            }
            long bytes = 4 * index(1, 0, 0);
            dx.data().asSlice(image * bytes, bytes).fill((byte) 0);
            return singly;
          });
      return;
    }
    if (tiled) {
      dx.data().fill((byte) 0);
    }
    forImages(singly);
  }

  private void maxGradientSingly(
      Tensor x, Tensor dy, boolean ofRelu, Tensor dx, int image, Place p, long out) {
    boolean floating = x.dtype().isFloating();
    for (int c = 0; c < channels; c++) {
      long at = argMax(x, image, p, c);
      if (!floating) {
        dx.setLong(at, dx.longAt(at) + dy.longAt(out + c));
      } else if (!ofRelu || x.doubleAt(at) > 0) {
        dx.setDouble(at, dx.doubleAt(at) + dy.doubleAt(out + c));
      }
    }
  }

  /** Whether every element of the image is in exactly one window. */
  private boolean isTiled() {
    return rows.stride() == rows.size()
        && columns.stride() == columns.size()
        && rows.before() == 0
        && columns.before() == 0
        && outputHeight() * rows.size() >= height
        && outputWidth() * columns.size() >= width;
  }

  /**
   * Sets {@code dy} to what {@code dx} has where {@code x} is first equal to {@code y}, the largest
   * of the window, and to 0 where it never is.
   */
  public void maxGather(Tensor x, Tensor y, Tensor dx, Tensor dy) {
    dy.data().fill((byte) 0);
    forPlaces(
        (image, p, out) -> {
          for (int c = 0; c < channels; c++) {
            long at = find(y, out + c, x, image, p, c);
            if (at >= 0) {
              TensorFill.copyElement(dx, at, dy, out + c);
            }
          }
        });
  }

  /** Where an element of {@code y} is first found in a window of {@code x}; -1 if nowhere. */
  private long find(Tensor y, long element, Tensor x, int image, Place p, int c) {
    boolean floating = x.dtype().isFloating();
    for (int i = p.firstRow; i < p.lastRow; i++) {
      for (int j = p.firstColumn; j < p.lastColumn; j++) {
        long at = index(image, i, j) + c;
        if (floating ? x.doubleAt(at) == y.doubleAt(element) : x.longAt(at) == y.longAt(element)) {
          return at;
        }
      }
    }
    return -1;
  }

  /** Sets {@code y} to the mean of each window. */
  public void mean(Tensor x, Tensor y) {
    if (isPlain(x)) {
      PlainPool.mean(this, x.data(), y.data());
      return;
    }
    boolean vector = VectorModule.isPresent() && x.dtype() == DType.FLOAT;
    forPlaces(
        (image, p, out) -> {
          int c = vector ? PoolVectors.mean(this, x.data(), y.data(), image, p, out) : 0;
          for (; c < channels; c++) {
            double sum = 0;
            for (int i = p.firstRow; i < p.lastRow; i++) {
              for (int j = p.firstColumn; j < p.lastColumn; j++) {
                sum += x.doubleAt(index(image, i, j) + c);
              }
            }
            y.setDouble(out + c, sum / p.count());
          }
        });
  }

  /** Adds to {@code dx}, which is zero, the gradient of each window, spread over its elements. */
  public void meanGradient(Tensor dy, Tensor dx) {
    if (isPlain(dx)) {
      PlainPool.meanGradient(this, dy.data(), dx.data());
      return;
    }
    boolean vector = VectorModule.isPresent() && dx.dtype() == DType.FLOAT;
    forImages(
        (image, p, out) -> {
          int c = vector ? PoolVectors.meanGradient(this, dy.data(), dx.data(), image, p, out) : 0;
          for (; c < channels; c++) {
            double share = dy.doubleAt(out + c) / p.count();
            for (int i = p.firstRow; i < p.lastRow; i++) {
              for (int j = p.firstColumn; j < p.lastColumn; j++) {
                long at = index(image, i, j) + c;
                dx.setDouble(at, dx.doubleAt(at) + share);
              }
            }
          }
        });
  }
}
