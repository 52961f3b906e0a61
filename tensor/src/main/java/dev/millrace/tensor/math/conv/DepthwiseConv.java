package dev.millrace.tensor.math.conv;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.Parallel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * A convolution in which each channel has filters of its own, and its two gradients. Images are
 * [batch, height, width, channels], the filter is [rows, columns, channels, multiplier], the output
 * has {@code channels * multiplier} channels. Takes floats and doubles.
 *
 * <p>All three results are sums of products of the other two arrays, taken at the same places: one
 * walk serves them all.
 *
 * @param multiplier filters per channel
 * @param rows the filter's height and how it moves down
 * @param columns the filter's width and how it moves right
 */
public record DepthwiseConv(
    int batch, int height, int width, int channels, int multiplier, Window rows, Window columns) {
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final long GRAIN = 1 << 14;

  /** Rows of the output. */
  public int outputHeight() {
    return rows.outputs(height);
  }

  /** Columns of the output. */
  public int outputWidth() {
    return columns.outputs(width);
  }

  /** Computes the output. */
  public void forward(Tensor input, Tensor filter, Tensor output) {
    output.data().fill((byte) 0);
    int h = outputHeight();
    long perRow = (long) outputWidth() * rows.size() * columns.size() * channels * multiplier;
    Parallel.run(
        (long) batch * h,
        Math.max(1, GRAIN / Math.max(1, perRow)),
        (from, to) -> {
          for (long r = from; r < to; r++) {
            int i = (int) (r % h);
            for (int k = rows.firstInside(i); k < rows.lastInside(i, height); k++) {
              row(ConvResult.OUTPUT, (int) (r / h), i, k, input, filter, output);
            }
          }
        });
  }

  /** Computes the gradient of the input from the filter and the gradient of the output. */
  public void backwardInput(Tensor inputGradient, Tensor filter, Tensor outputGradient) {
    inputGradient.data().fill((byte) 0);
    Parallel.run(
        batch,
        1,
        (from, to) -> {
          for (long image = from; image < to; image++) {
            for (int i = 0; i < outputHeight(); i++) {
              for (int k = rows.firstInside(i); k < rows.lastInside(i, height); k++) {
                row(ConvResult.INPUT, (int) image, i, k, inputGradient, filter, outputGradient);
              }
            }
          }
        });
  }

  /** Computes the gradient of the filter from the input and the gradient of the output. */
  public void backwardFilter(Tensor input, Tensor filterGradient, Tensor outputGradient) {
    filterGradient.data().fill((byte) 0);
    Parallel.run(
        rows.size(),
        1,
        (from, to) -> {
          for (int k = (int) from; k < to; k++) {
            for (int image = 0; image < batch; image++) {
              for (int i = 0; i < outputHeight(); i++) {
                if (k >= rows.firstInside(i) && k < rows.lastInside(i, height)) {
                  row(ConvResult.FILTER, image, i, k, input, filterGradient, outputGradient);
                }
              }
            }
          }
        });
  }

  /** Row {@code i} of an image's output against row {@code k} of the filter. */
  private void row(
      ConvResult result, int image, int i, int k, Tensor input, Tensor filter, Tensor output) {
    int w = outputWidth();
    int y = i * rows.stride() - rows.before() + k * rows.dilation();
    for (int j = 0; j < w; j++) {
      int start = j * columns.stride() - columns.before();
      for (int q = columns.firstInside(j); q < columns.lastInside(j, width); q++) {
        long at =
            (((long) image * height + y) * width + start + (long) q * columns.dilation())
                * channels;
        long filterAt = ((long) k * columns.size() + q) * channels * multiplier;
        long outAt = (((long) image * outputHeight() + i) * w + j) * channels * multiplier;
        switch (result) {
          case OUTPUT -> {
            if (multiplier == 1) {
              add(output, outAt, input, at, filter, filterAt);
            } else {
              addSpread(output, outAt, input, at, filter, filterAt);
            }
          }
          case FILTER -> {
            if (multiplier == 1) {
              add(filter, filterAt, input, at, output, outAt);
            } else {
              addSpread(filter, filterAt, input, at, output, outAt);
            }
          }
          case INPUT -> {
            if (multiplier == 1) {
              add(input, at, output, outAt, filter, filterAt);
            } else {
              addGathered(input, at, output, outAt, filter, filterAt);
            }
          }
        }
      }
    }
  }

  /** {@code sum[c] += a[c] * b[c]}. */
  private void add(Tensor sum, long sumAt, Tensor a, long aAt, Tensor b, long bAt) {
    int c = 0;
    if (VectorModule.isPresent() && sum.dtype() == DType.FLOAT) {
      c = Vectors.add(channels, sum.data(), sumAt, a.data(), aAt, b.data(), bAt);
    }
    for (; c < channels; c++) {
      addOne(sum, sumAt + c, a, aAt + c, b, bAt + c);
    }
  }

  /** {@code sum[c, m] += a[c] * b[c, m]}. */
  private void addSpread(Tensor sum, long sumAt, Tensor a, long aAt, Tensor b, long bAt) {
    for (int c = 0; c < channels; c++) {
      for (int m = 0; m < multiplier; m++) {
        long k = (long) c * multiplier + m;
        addOne(sum, sumAt + k, a, aAt + c, b, bAt + k);
      }
    }
  }

  /** {@code sum[c] += a[c, m] * b[c, m]}. */
  private void addGathered(Tensor sum, long sumAt, Tensor a, long aAt, Tensor b, long bAt) {
    for (int c = 0; c < channels; c++) {
      for (int m = 0; m < multiplier; m++) {
        long k = (long) c * multiplier + m;
        addOne(sum, sumAt + c, a, aAt + k, b, bAt + k);
      }
    }
  }

  private static void addOne(Tensor sum, long i, Tensor a, long j, Tensor b, long k) {
    if (sum.dtype() == DType.FLOAT) {
      float product = a.data().getAtIndex(F32, j) * b.data().getAtIndex(F32, k);
      sum.data().setAtIndex(F32, i, sum.data().getAtIndex(F32, i) + product);
    } else {
      sum.setDouble(i, sum.doubleAt(i) + a.doubleAt(j) * b.doubleAt(k));
    }
  }

  /** The loops over vectors: apart, as they can be linked only where there is the Vector API. */
  private static final class Vectors {
    private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
    private static final int L = S.length();
    private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;

    private Vectors() {}

    static int add(
        int channels,
        MemorySegment sum,
        long sumAt,
        MemorySegment a,
        long aAt,
        MemorySegment b,
        long bAt) {
      int c = 0;
      for (; c <= channels - L; c += L) {
        FloatVector.fromMemorySegment(S, a, 4 * (aAt + c), LE)
            .fma(
                FloatVector.fromMemorySegment(S, b, 4 * (bAt + c), LE),
                FloatVector.fromMemorySegment(S, sum, 4 * (sumAt + c), LE))
            .intoMemorySegment(sum, 4 * (sumAt + c), LE);
      }
      return c;
    }
  }
}
