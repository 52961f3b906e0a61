package dev.millrace.examples.mnist;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.IdxFile;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Random;

/** Images as rows of 784 grey values from 0 to 1, and their labels. */
public final class MnistData {
  public static final int PIXELS = 28 * 28;
  public static final int CLASSES = 10;

  private final float[] images;
  private final long[] labels;

  private MnistData(float[] images, long[] labels) {
    this.images = images;
    this.labels = labels;
  }

  /** The 60,000 images to train on, from {@code dir} or, where that is null, as bundled. */
  public static MnistData train(Path dir) {
    return load(dir, "train");
  }

  /** The 10,000 images to test with. */
  public static MnistData test(Path dir) {
    return load(dir, "t10k");
  }

  private static MnistData load(Path dir, String part) {
    byte[] pixels = read(dir, part + "-images-idx3-ubyte", 3);
    byte[] digits = read(dir, part + "-labels-idx1-ubyte", 1);
    if (pixels.length != digits.length * PIXELS) {
      throw corrupt(
          "The MNIST files '%s-*' do not belong together: %d pixels are not those of %d images of"
              + " 28 x 28.",
          part, pixels.length, digits.length);
    }
    if (digits.length == 0) {
      throw corrupt("The MNIST files '%s-*' hold no images.", part);
    }
    float[] images = new float[pixels.length];
    for (int i = 0; i < pixels.length; i++) {
      images[i] = (pixels[i] & 0xFF) / 255f;
    }
    long[] labels = new long[digits.length];
    for (int i = 0; i < digits.length; i++) {
      labels[i] = digits[i];
      if (labels[i] < 0 || labels[i] >= CLASSES) {
        throw corrupt("Label %d of '%s' is %d, which is not a digit.", i, part, labels[i]);
      }
    }
    return new MnistData(images, labels);
  }

  /** The bytes of an IDX file of this many dimensions. */
  private static byte[] read(Path dir, String name, int rank) {
    Path file = dir == null ? null : file(dir, name);
    String where = dir == null ? "bundled " + name : file.toString();
    try (InputStream in = dir == null ? bundled(name) : Files.newInputStream(file);
        Tensor t = IdxFile.read(in, where)) {
      if (t.dtype() != DType.UINT8 || t.shape().rank() != rank) {
        throw corrupt(
            "%s is not an IDX file of bytes in %d dimensions but of %s %s.",
            where, rank, t.dtype(), t.shape());
      }
      return t.data().toArray(ValueLayout.JAVA_BYTE);
    } catch (NoSuchFileException e) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "There is no file " + where + ", nor one with .gz at its end. Check --data-dir.",
          e);
    } catch (IOException e) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "Cannot read " + where + ": " + e.getMessage() + ". Check --data-dir.",
          e);
    }
  }

  private static MillraceException corrupt(String format, Object... args) {
    return new MillraceException(Code.DATA_LOSS, String.format(format, args));
  }

  private static InputStream bundled(String name) throws IOException {
    InputStream in = MnistData.class.getResourceAsStream("/mnist/" + name + ".gz");
    if (in == null) {
      throw new IOException("it is not on the class path");
    }
    return in;
  }

  /** The file as it is, if it is there, else the one with {@code .gz} if that is. */
  private static Path file(Path dir, String name) {
    Path plain = dir.resolve(name);
    Path zipped = dir.resolve(name + ".gz");
    return !Files.exists(plain) && Files.exists(zipped) ? zipped : plain;
  }

  public int size() {
    return labels.length;
  }

  /** Image {@code i} and its digit. */
  Tensor[] example(int i) {
    Tensor image = Tensor.allocate(DType.FLOAT, Shape.of(PIXELS));
    MemorySegment.copy(images, i * PIXELS, image.data(), ValueLayout.JAVA_FLOAT, 0, PIXELS);
    return new Tensor[] {image, Tensor.scalar(labels[i])};
  }

  /** Rows {@code from} to {@code from + n} as an image tensor. */
  public Tensor images(int from, int n) {
    Tensor t = Tensor.allocate(DType.FLOAT, Shape.of(n, PIXELS));
    MemorySegment.copy(images, from * PIXELS, t.data(), ValueLayout.JAVA_FLOAT, 0, n * PIXELS);
    return t;
  }

  /** Labels {@code from} to {@code from + n}. */
  public Tensor labels(int from, int n) {
    Tensor t = Tensor.allocate(DType.INT64, Shape.of(n));
    MemorySegment.copy(labels, from, t.data(), ValueLayout.JAVA_LONG, 0, n);
    return t;
  }

  /** Batches in an order that is new in every epoch and repeatable from the seed. */
  public Batches batches(int batchSize, long seed) {
    if (batchSize > size()) {
      throw MillraceException.invalid(
          "A batch of %d is more than the %d images there are to train on.", batchSize, size());
    }
    return new Batches(batchSize, new Random(seed));
  }

  /** An endless sequence of batches. Not for use by several threads. */
  public final class Batches {
    private final int batchSize;
    private final Random random;
    private final int[] order = new int[labels.length];
    private int next = labels.length;

    private Batches(int batchSize, Random random) {
      this.batchSize = batchSize;
      this.random = random;
      for (int i = 0; i < order.length; i++) {
        order[i] = i;
      }
    }

    /** The next batch: images and labels, owned by the caller. */
    public Tensor[] next() {
      if (next + batchSize > order.length) {
        shuffle();
        next = 0;
      }
      Tensor x = Tensor.allocate(DType.FLOAT, Shape.of(batchSize, PIXELS));
      Tensor y = Tensor.allocate(DType.INT64, Shape.of(batchSize));
      for (int i = 0; i < batchSize; i++) {
        int row = order[next++];
        MemorySegment.copy(
            images, row * PIXELS, x.data(), ValueLayout.JAVA_FLOAT, 4L * i * PIXELS, PIXELS);
        y.setLong(i, labels[row]);
      }
      return new Tensor[] {x, y};
    }

    private void shuffle() {
      for (int i = order.length - 1; i > 0; i--) {
        int j = random.nextInt(i + 1);
        int t = order[i];
        order[i] = order[j];
        order[j] = t;
      }
    }
  }
}
