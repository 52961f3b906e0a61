package dev.millrace.tensor.math;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;

/**
 * The maximum or the average of what a window sees of each channel, as TensorFlow's MaxPool and
 * AvgPool define them, and their gradients. Images are dense, row-major and channels-last: [batch,
 * height, width, channels].
 *
 * <p>Padding is never looked at. The maximum of nothing but NaN and minus infinity is the lowest
 * finite number; NaN next to a number is passed over; the gradient of a maximum goes to the first
 * of equals. An average divides by the elements seen.
 *
 * @param type any number for the maximum, a floating type for the rest
 * @param rows the window's height and how it moves down; without dilation
 * @param columns the window's width and how it moves right; without dilation
 */
public record Pool(
    DType type, int batch, int height, int width, int channels, Window rows, Window columns) {
  /** Elements looked at that are worth another thread. */
  private static final long MIN_WORK = 1 << 15;

  public Pool {
    if (rows.dilation() != 1 || columns.dilation() != 1) {
      throw MillraceException.invalid(
          "A pooling window has no dilation; given %d and %d.",
          rows.dilation(), columns.dilation());
    }
  }

  /** Rows of the output. */
  public int outputHeight() {
    return rows.outputs(height);
  }

  /** Columns of the output. */
  public int outputWidth() {
    return columns.outputs(width);
  }

  /** Computes the maximum in each window. */
  public void max(MemorySegment input, MemorySegment output) {
    check(type.isFloating() || type.isIntegral(), "maximum");
    checkSize("input", input, inputElements());
    checkSize("output", output, outputElements());
    if (isShort()) {
      Buffer in = widened(input, inputElements());
      Buffer out = BufferPool.shared().allocate(4 * outputElements());
      asFloats().max(in.memory(), out.memory());
      narrow(out, output, outputElements());
      in.release();
    } else if (type == DType.FLOAT) {
      overRows((from, to) -> FloatPool.max(this, input, output, from, to));
    } else {
      overRows((from, to) -> PlainPool.max(this, input, output, from, to));
    }
  }

  /** Computes the gradient of the input of {@link #max} from the gradient of its output. */
  public void maxGradient(
      MemorySegment input, MemorySegment outputGradient, MemorySegment inputGradient) {
    check(type.isFloating(), "gradient of a maximum");
    checkSize("input", input, inputElements());
    checkSize("output's gradient", outputGradient, outputElements());
    checkSize("input's gradient", inputGradient, inputElements());
    if (isShort()) {
      Buffer in = widened(input, inputElements());
      Buffer dOut = widened(outputGradient, outputElements());
      Buffer dIn = BufferPool.shared().allocate(4 * inputElements());
      asFloats().maxGradient(in.memory(), dOut.memory(), dIn.memory());
      narrow(dIn, inputGradient, inputElements());
      in.release();
      dOut.release();
    } else if (type == DType.FLOAT) {
      overImages(
          (from, to) ->
              FloatPool.maxGradient(this, input, outputGradient, inputGradient, from, to));
    } else {
      overImages(
          (from, to) ->
              PlainPool.maxGradient(this, input, outputGradient, inputGradient, from, to));
    }
  }

  /** Computes the average of each window. */
  public void average(MemorySegment input, MemorySegment output) {
    check(type.isFloating(), "average");
    checkSize("input", input, inputElements());
    checkSize("output", output, outputElements());
    if (isShort()) {
      Buffer in = widened(input, inputElements());
      Buffer out = BufferPool.shared().allocate(4 * outputElements());
      asFloats().average(in.memory(), out.memory());
      narrow(out, output, outputElements());
      in.release();
    } else if (type == DType.FLOAT) {
      overRows((from, to) -> FloatPool.average(this, input, output, from, to));
    } else {
      overRows((from, to) -> PlainPool.average(this, input, output, from, to));
    }
  }

  /** Computes the gradient of the input of {@link #average} from the gradient of its output. */
  public void averageGradient(MemorySegment outputGradient, MemorySegment inputGradient) {
    check(type.isFloating(), "gradient of an average");
    checkSize("output's gradient", outputGradient, outputElements());
    checkSize("input's gradient", inputGradient, inputElements());
    if (isShort()) {
      Buffer dOut = widened(outputGradient, outputElements());
      Buffer dIn = BufferPool.shared().allocate(4 * inputElements());
      asFloats().averageGradient(dOut.memory(), dIn.memory());
      narrow(dIn, inputGradient, inputElements());
      dOut.release();
    } else if (type == DType.FLOAT) {
      overImages(
          (from, to) -> FloatPool.averageGradient(this, outputGradient, inputGradient, from, to));
    } else {
      overImages(
          (from, to) -> PlainPool.averageGradient(this, outputGradient, inputGradient, from, to));
    }
  }

  /** A part of the images, or of all their output rows. */
  private interface Part {
    void run(int from, int to);
  }

  private void overRows(Part part) {
    if (outputElements() > 0) {
      long work = (long) outputWidth() * channels * rows.size() * columns.size();
      Parallel.run(
          (long) batch * outputHeight(),
          MIN_WORK / work + 1,
          (from, to) -> part.run((int) from, (int) to));
    }
  }

  /** Windows overlap, so that only whole images are independent of each other. */
  private void overImages(Part part) {
    if (inputElements() > 0) {
      long work = (long) height * width * channels;
      Parallel.run(batch, MIN_WORK / work + 1, (from, to) -> part.run((int) from, (int) to));
    }
  }

  private boolean isShort() {
    return type == DType.HALF || type == DType.BFLOAT16;
  }

  private Pool asFloats() {
    return new Pool(DType.FLOAT, batch, height, width, channels, rows, columns);
  }

  private Buffer widened(MemorySegment from, long elements) {
    Buffer wide = BufferPool.shared().allocate(4 * elements);
    ShortFloats.widen(type, from, wide.memory(), elements);
    return wide;
  }

  private void narrow(Buffer from, MemorySegment to, long elements) {
    ShortFloats.narrow(type, from.memory(), to, elements);
    from.release();
  }

  private long inputElements() {
    return (long) batch * height * width * channels;
  }

  private long outputElements() {
    return (long) batch * outputHeight() * outputWidth() * channels;
  }

  private void check(boolean defined, String what) {
    if (!defined) {
      throw MillraceException.invalid("There is no pooled %s of %s.", what, type);
    }
  }

  private void checkSize(String name, MemorySegment s, long elements) {
    if (s.byteSize() < elements * type.bytes() || !s.isNative()) {
      throw new IllegalArgumentException(
          "the %s of %s needs %d native bytes, not %d"
              .formatted(name, this, elements * type.bytes(), s.byteSize()));
    }
  }
}
