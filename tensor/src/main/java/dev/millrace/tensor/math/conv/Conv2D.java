package dev.millrace.tensor.math.conv;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.ShortFloats;
import dev.millrace.tensor.math.elementwise.AddScaled;
import dev.millrace.tensor.math.onednn.OneDnn;
import java.lang.foreign.MemorySegment;

/**
 * A convolution of images with filters, as TensorFlow's Conv2D defines it, and its two gradients.
 * All arrays are dense and row-major: images are [batch, height, width, channels], the filter is
 * [rows, columns, channels / groups, filters], the output [batch, output height, output width,
 * filters]. The filters are in as many equal groups as the channels, and each group of filters sees
 * its own group of channels only; with as many groups as channels this is TensorFlow's depthwise
 * convolution.
 *
 * <p>Floats go to oneDNN where it is available; doubles, and floats without it, are gathered into
 * matrices and multiplied. 16-bit floats are computed as floats. The images of a batch are spread
 * over the compute threads; the result depends on how many there are, not on which does what.
 *
 * @param type float, double, half, bfloat16, or int32, of whose filter there is no gradient
 * @param channels of the input
 * @param filters channels of the output
 * @param groups usually 1; divides channels and filters
 * @param rows the filter's height and how it moves down
 * @param columns the filter's width and how it moves right
 */
public record Conv2D(
    DType type,
    int batch,
    int height,
    int width,
    int channels,
    int filters,
    int groups,
    Window rows,
    Window columns) {
  /** Multiplications that are worth another thread. */
  private static final long MIN_WORK = 500_000;

  public Conv2D {
    if (!type.isFloating() && type != DType.INT32) {
      throw MillraceException.invalid(
          "There is no convolution of %s; it takes half, bfloat16, float, double and int32.", type);
    }
    if (groups < 1 || channels % groups != 0 || filters % groups != 0) {
      throw MillraceException.invalid(
          "%d groups of a convolution do not divide its %d channels and %d filters.",
          groups, channels, filters);
    }
  }

  /** A convolution in which every filter sees all channels. */
  public Conv2D(
      DType type,
      int batch,
      int height,
      int width,
      int channels,
      int filters,
      Window rows,
      Window columns) {
    this(type, batch, height, width, channels, filters, 1, rows, columns);
  }

  /** The same for another type and number of images. */
  private Conv2D with(DType type, int batch) {
    return new Conv2D(type, batch, height, width, channels, filters, groups, rows, columns);
  }

  /** Rows of the output. */
  public int outputHeight() {
    return rows.outputs(height);
  }

  /** Columns of the output. */
  public int outputWidth() {
    return columns.outputs(width);
  }

  /** Computes the output. */
  public void forward(MemorySegment input, MemorySegment filter, MemorySegment output) {
    run(ConvResult.OUTPUT, input, filter, output);
  }

  /** Computes the gradient of the input from the filter and the gradient of the output. */
  public void backwardInput(
      MemorySegment inputGradient, MemorySegment filter, MemorySegment outputGradient) {
    run(ConvResult.INPUT, inputGradient, filter, outputGradient);
  }

  /** Computes the gradient of the filter from the input and the gradient of the output. */
  public void backwardFilter(
      MemorySegment input, MemorySegment filterGradient, MemorySegment outputGradient) {
    if (!type.isFloating()) {
      throw MillraceException.invalid("There is no gradient of a filter of %s.", type);
    }
    run(ConvResult.FILTER, input, filterGradient, outputGradient);
  }

  private void run(
      ConvResult result, MemorySegment input, MemorySegment filter, MemorySegment output) {
    checkSizes(input, filter, output);
    if (inputElements() == 0 || filterElements() == 0 || outputElements() == 0) {
      (switch (result) {
            case OUTPUT -> output.asSlice(0, outputElements() * type.bytes());
            case INPUT -> input.asSlice(0, inputElements() * type.bytes());
            case FILTER -> filter.asSlice(0, filterElements() * type.bytes());
          })
          .fill((byte) 0);
    } else if (type == DType.HALF || type == DType.BFLOAT16) {
      runAsFloats(result, input, filter, output);
    } else {
      split(result, input, filter, output);
    }
  }

  /** Spreads the images over the threads. Each sums a gradient of the filter of its own. */
  private void split(
      ConvResult result, MemorySegment input, MemorySegment filter, MemorySegment output) {
    int pieces = pieces();
    Buffer others = result == ConvResult.FILTER ? otherFilters(pieces) : null;
    try {
      Parallel.run(
          pieces,
          1,
          (from, to) -> {
            for (int p = (int) from; p < to; p++) {
              int first = firstImage(p, pieces);
              int images = firstImage(p + 1, pieces) - first;
              MemorySegment own = others == null ? filter : ownFilter(p, filter, others);
              try (ConvRuns runs = runs(result, images, own, pieces == 1)) {
                runs.run(inputs(input, first, images), outputs(output, first, images));
                runs.finish();
              }
            }
          });
      if (others != null) {
        add(pieces - 1, others.memory(), filter);
      }
    } finally {
      if (others != null) {
        others.release();
      }
    }
  }

  /** How many threads to spread the images over. */
  int pieces() {
    long work = outputElements() * rows.size() * columns.size() * (channels / groups);
    return (int) Math.min(Math.min(batch, Parallel.threads()), work / MIN_WORK + 1);
  }

  /** The first image of a piece, or behind the last one. */
  int firstImage(int piece, int pieces) {
    return (int) ((long) batch * piece / pieces);
  }

  /** Room for the gradients of the filter that all pieces but the first compute; may be null. */
  Buffer otherFilters(int pieces) {
    return pieces == 1
        ? null
        : BufferPool.current().allocate((pieces - 1) * filterElements() * type.bytes());
  }

  /** Where a piece puts its gradient of the filter. */
  MemorySegment ownFilter(int piece, MemorySegment filter, Buffer others) {
    long bytes = filterElements() * type.bytes();
    return piece == 0 ? filter : others.memory().asSlice((piece - 1) * bytes, bytes);
  }

  /** Some of the images at {@code input}. */
  MemorySegment inputs(MemorySegment input, int first, int images) {
    return slice(input, (long) height * width * channels, first, images);
  }

  /** The output for some of the images at {@code output}. */
  MemorySegment outputs(MemorySegment output, int first, int images) {
    return slice(output, (long) outputHeight() * outputWidth() * filters, first, images);
  }

  private MemorySegment slice(MemorySegment s, long elementsPerImage, int first, int images) {
    long bytes = elementsPerImage * type.bytes();
    return s.asSlice(first * bytes, images * bytes);
  }

  /**
   * Prepares to compute lots of {@code images} images with one filter, on the calling thread.
   * {@code alone}: there is nothing else for other threads to do.
   */
  ConvRuns runs(ConvResult result, int images, MemorySegment filter, boolean alone) {
    Conv2D part = images == batch ? this : with(type, images);
    if (type == DType.FLOAT && OneDnn.isAvailable()) {
      OneDnnConv compiled = OneDnnConv.of(part, result);
      if (compiled != null) {
        return compiled.runs(filter);
      }
    }
    return MatrixConv.runs(part, result, filter, alone);
  }

  /** Adds {@code n} arrays as large as the filter to it, in order. */
  void add(int n, MemorySegment others, MemorySegment filter) {
    Parallel.run(
        filterElements(),
        1 << 15,
        (from, to) -> {
          long bytes = (to - from) * type.bytes();
          MemorySegment sum = filter.asSlice(from * type.bytes(), bytes);
          for (int i = 0; i < n; i++) {
            long other = (i * filterElements() + from) * type.bytes();
            AddScaled.plain(type, sum, others.asSlice(other, bytes), to - from);
          }
        });
  }

  private void runAsFloats(
      ConvResult result, MemorySegment input, MemorySegment filter, MemorySegment output) {
    Buffer in = BufferPool.current().allocate(4 * inputElements());
    Buffer weights = BufferPool.current().allocate(4 * filterElements());
    Buffer out = BufferPool.current().allocate(4 * outputElements());
    try {
      if (result != ConvResult.INPUT) {
        ShortFloats.widen(type, input, in.memory(), inputElements());
      }
      if (result != ConvResult.FILTER) {
        ShortFloats.widen(type, filter, weights.memory(), filterElements());
      }
      if (result != ConvResult.OUTPUT) {
        ShortFloats.widen(type, output, out.memory(), outputElements());
      }
      with(DType.FLOAT, batch).split(result, in.memory(), weights.memory(), out.memory());
      switch (result) {
        case INPUT -> ShortFloats.narrow(type, in.memory(), input, inputElements());
        case FILTER -> ShortFloats.narrow(type, weights.memory(), filter, filterElements());
        case OUTPUT -> ShortFloats.narrow(type, out.memory(), output, outputElements());
      }
    } finally {
      in.release();
      weights.release();
      out.release();
    }
  }

  long inputElements() {
    return (long) batch * height * width * channels;
  }

  long filterElements() {
    return (long) rows.size() * columns.size() * (channels / groups) * filters;
  }

  long outputElements() {
    return (long) batch * outputHeight() * outputWidth() * filters;
  }

  void checkSizes(MemorySegment input, MemorySegment filter, MemorySegment output) {
    checkSize("input", input, inputElements());
    checkSize("filter", filter, filterElements());
    checkSize("output", output, outputElements());
  }

  private void checkSize(String name, MemorySegment s, long elements) {
    if (s.byteSize() < elements * type.bytes() || !s.isNative()) {
      throw new IllegalArgumentException(
          "the %s of %s needs %d native bytes, not %d"
              .formatted(name, this, elements * type.bytes(), s.byteSize()));
    }
  }
}
