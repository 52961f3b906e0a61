package dev.millrace.examples.mnist;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.Random;

/**
 * Images and their digits one by one, in an order that is new in every epoch and repeatable from
 * the seed. The files are read when the first element is needed.
 *
 * <p>Threading: any thread.
 */
final class MnistImages implements Dataset {
  /** The bundled files, which need not be read to be counted. */
  private static final long BUNDLED = 60_000;

  private final Path folder;
  private final String part;
  private final long seed;

  /** Null before it is needed. Guarded by this. */
  private MnistData loaded;

  /**
   * A part of the digits.
   *
   * @param folder where the files are; null for the bundled ones
   * @param part {@code train} or {@code t10k}
   */
  MnistImages(Path folder, String part, long seed) {
    this.folder = folder;
    this.part = part;
    this.seed = seed;
  }

  private synchronized MnistData data() {
    if (loaded == null) {
      loaded = part.equals("train") ? MnistData.train(folder) : MnistData.test(folder);
    }
    return loaded;
  }

  /** Fails if the files cannot be used, or have fewer images than a batch of training. */
  void check(int batch) {
    if (folder != null) {
      data();
    }
    if (part.equals("train") && batch > count()) {
      throw MillraceException.invalid(
          "A batch of %d is more than the %d images there are to train on.", batch, count());
    }
  }

  @Override
  public OptionalLong knownSize() {
    return OptionalLong.of(count());
  }

  private long count() {
    return folder == null && part.equals("train") ? BUNDLED : data().size();
  }

  @Override
  public int positionLength() {
    return 2;
  }

  @Override
  public Elements elements() {
    return new Passage(data());
  }

  /** The position is the epoch and how many elements of it were given. */
  private final class Passage implements Elements {
    private final MnistData data;
    private final int[] order;
    private long epoch;
    private int next;

    Passage(MnistData data) {
      this.data = data;
      order = new int[data.size()];
      begin(0);
    }

    private void begin(long number) {
      epoch = number;
      next = 0;
      Random random = new Random(seed + 1_000_003 * epoch);
      for (int i = 0; i < order.length; i++) {
        int j = random.nextInt(i + 1);
        order[i] = order[j];
        order[j] = i;
      }
    }

    @Override
    public Tensor[] next() {
      return next < order.length ? data.example(order[next++]) : null;
    }

    @Override
    public boolean skipNext() {
      return next < order.length && next++ >= 0;
    }

    @Override
    public long[] position() {
      return new long[] {epoch, next};
    }

    @Override
    public void seek(long[] position) {
      begin(position[0]);
      next = Math.toIntExact(position[1]);
    }

    @Override
    public void repeat(long[] beginning, long number) {
      begin(number);
    }
  }
}
