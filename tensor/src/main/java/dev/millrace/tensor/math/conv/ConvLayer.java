package dev.millrace.tensor.math.conv;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.gemm.FloatTile;
import dev.millrace.tensor.math.reduce.ChannelSum;
import java.lang.foreign.MemorySegment;

/**
 * A convolution of floats with what a layer does to its output: a bias, a relu and pooling, each if
 * so wished. Images are taken a few at a time, a <em>lot</em>, and what follows the convolution is
 * done while they are in the cache. So is what comes before its gradients, unless {@link
 * PooledConv} has less to do for them.
 *
 * <p>The batch is cut into pieces of several lots, more than there are threads, so that one that is
 * held up does not hold up all. Lots are equal but for what is left over, a piece of its own.
 *
 * <p>Threading: pieces are spread over the threads of {@link Parallel}; the result depends on how
 * many threads there are, not on which does what.
 *
 * @param pool the largest of windows of the output; null without
 */
public record ConvLayer(Conv2D conv, boolean relu, ImagePool pool) {
  /** Bytes of output in a lot: with the input and the filter they fit the second cache. */
  private static final long LOT_BYTES = 768 << 10;

  private static final int PIECES_PER_THREAD = 4;

  /**
   * Whether this can be computed here: floats whose channels fill whole vectors of the Vector API,
   * and not empty.
   */
  public boolean isSupported() {
    return VectorModule.isPresent()
        && conv.type() == DType.FLOAT
        && conv.filters() % FloatTile.INSTANCE.lanes() == 0
        && conv.inputElements() > 0
        && conv.filterElements() > 0
        && conv.outputElements() > 0;
  }

  /**
   * Computes the output, and the pooled output if there is a pool.
   *
   * @param bias one float per filter
   */
  public void forward(
      MemorySegment input,
      MemorySegment filter,
      MemorySegment bias,
      MemorySegment output,
      MemorySegment pooled) {
    conv.checkSizes(input, filter, output);
    Cut cut = cut();
    try (ConvRuns lots = cut.runs(ConvResult.OUTPUT, filter);
        ConvRuns rest = cut.runsOfRest(ConvResult.OUTPUT, filter)) {
      Parallel.each(
          cut.pieces(),
          p -> {
            int lot = cut.lot(p);
            for (int i = cut.first(p); i < cut.first(p + 1); i += lot) {
              MemorySegment out = conv.outputs(output, i, lot);
              (cut.isRest(p) ? rest : lots).run(conv.inputs(input, i, lot), out);
              ChannelBias.addHere(out, bias, conv.filters(), relu);
              if (pool != null) {
                pool.of(lot).maxHere(out, pooled(pooled, i, lot));
              }
            }
          });
    }
  }

  /**
   * Computes the gradients from that of the pooled output. There must be a relu and a pool.
   *
   * @param inputGradient null if nobody wants it; then neither is the filter needed
   */
  public void backward(
      MemorySegment input,
      MemorySegment filter,
      MemorySegment output,
      MemorySegment pooled,
      MemorySegment pooledGradient,
      MemorySegment inputGradient,
      MemorySegment filterGradient,
      MemorySegment biasGradient) {
    conv.checkSizes(input, filterGradient, output);
    PooledConv pooledConv = new PooledConv(conv, pool);
    if (pooledConv.isWorthIt()) {
      pooledConv.backward(
          input,
          filter,
          output,
          pooled,
          pooledGradient,
          inputGradient,
          filterGradient,
          biasGradient);
      return;
    }
    Cut cut = cut();
    int pieces = cut.pieces();
    long biasBytes = 4L * conv.filters();
    boolean toInput = inputGradient != null;
    Buffer filters = conv.otherFilters(pieces);
    Buffer biases = BufferPool.current().allocate(pieces * biasBytes);
    MemorySegment sums = biases.memory().asSlice(0, pieces * biasBytes);
    try (ConvRuns lots = toInput ? cut.runs(ConvResult.INPUT, filter) : null;
        ConvRuns rest = toInput ? cut.runsOfRest(ConvResult.INPUT, filter) : null) {
      sums.fill((byte) 0);
      Parallel.each(
          pieces,
          p -> {
            int lot = cut.lot(p);
            MemorySegment own = conv.ownFilter(p, filterGradient, filters);
            Buffer scratch = BufferPool.current().allocate(lot * imageBytes());
            MemorySegment dy = scratch.memory().asSlice(0, lot * imageBytes());
            try (ConvRuns toFilter = conv.runs(ConvResult.FILTER, lot, own, pieces == 1)) {
              for (int i = cut.first(p); i < cut.first(p + 1); i += lot) {
                pool.of(lot)
                    .maxGradientHere(
                        conv.outputs(output, i, lot),
                        pooled(pooled, i, lot),
                        pooled(pooledGradient, i, lot),
                        dy);
                ChannelSum.addHere(dy, sums.asSlice(p * biasBytes, biasBytes), conv.filters());
                toFilter.run(conv.inputs(input, i, lot), dy);
                if (toInput) {
                  (cut.isRest(p) ? rest : lots).run(conv.inputs(inputGradient, i, lot), dy);
                }
              }
              toFilter.finish();
            } finally {
              scratch.release();
            }
          });
      if (filters != null) {
        conv.add(pieces - 1, filters.memory(), filterGradient);
      }
      biasGradient.fill((byte) 0);
      ChannelSum.addHere(sums, biasGradient, conv.filters());
    } finally {
      biases.release();
      if (filters != null) {
        filters.release();
      }
    }
  }

  /**
   * How the batch is cut.
   *
   * @param lots how many equal lots there are
   * @param lot images of each
   * @param shares pieces these are dealt out to; what is left over is one more
   */
  private record Cut(Conv2D conv, int lots, int lot, int shares) {
    int pieces() {
      return rest() > 0 ? shares + 1 : shares;
    }

    private int rest() {
      return conv.batch() - lots * lot;
    }

    boolean isRest(int piece) {
      return piece == shares;
    }

    int lot(int piece) {
      return isRest(piece) ? rest() : lot;
    }

    /** The first image of a piece, or behind the last one. */
    int first(int piece) {
      return piece > shares ? conv.batch() : lots * piece / shares * lot;
    }

    ConvRuns runs(ConvResult result, MemorySegment filter) {
      return conv.runs(result, lot, filter, pieces() == 1);
    }

    /** Null if nothing is left over. */
    ConvRuns runsOfRest(ConvResult result, MemorySegment filter) {
      return rest() > 0 ? conv.runs(result, rest(), filter, false) : null;
    }
  }

  private Cut cut() {
    int batch = conv.batch();
    int threads = conv.pieces();
    int most = Math.clamp(LOT_BYTES / imageBytes(), 1, batch);
    int wanted = (batch + most - 1) / most;
    wanted = Math.min(batch, (wanted + threads - 1) / threads * threads);
    int lot = (batch + wanted - 1) / wanted;
    int lots = batch / lot;
    int shares = threads == 1 ? 1 : Math.min(lots, PIECES_PER_THREAD * threads);
    return new Cut(conv, lots, lot, shares);
  }

  private long imageBytes() {
    return 4L * conv.outputHeight() * conv.outputWidth() * conv.filters();
  }

  private MemorySegment pooled(MemorySegment s, int first, int images) {
    long bytes = 4L * pool.outputHeight() * pool.outputWidth() * pool.channels();
    return s.asSlice(first * bytes, images * bytes);
  }
}
