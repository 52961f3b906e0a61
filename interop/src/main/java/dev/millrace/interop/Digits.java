package dev.millrace.interop;

import dev.millrace.base.MillraceException;
import dev.millrace.examples.mnist.MnistData;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.util.Random;
import java.util.zip.GZIPInputStream;

/**
 * Batches of 784 pixels and which of ten digits they show: of MNIST, or of noise. Four in five of
 * MNIST's pixels are zero, of the noise none, which makes a difference to who looks for zeros.
 */
public record Digits(Tensor pixels, Tensor labels) {
  /** Images to train on. */
  private static final int IMAGES = 60_000;

  /** What the files begin with. */
  private static final int IMAGES_HEADER = 16;

  private static final int LABELS_HEADER = 8;

  /** The {@code index}th batch of MNIST. Only that is read, as the rest would be in memory. */
  public static Digits images(int n, long index) {
    long from = Math.floorMod(index, IMAGES / n) * (long) n;
    byte[] grey =
        read("images-idx3", IMAGES_HEADER + from * MnistData.PIXELS, n * MnistData.PIXELS);
    byte[] shown = read("labels-idx1", LABELS_HEADER + from, n);
    float[] pixels = new float[grey.length];
    for (int i = 0; i < pixels.length; i++) {
      pixels[i] = (grey[i] & 0xFF) / 255f;
    }
    long[] labels = new long[n];
    for (int i = 0; i < n; i++) {
      labels[i] = shown[i];
    }
    return of(pixels, labels);
  }

  /** Noise that is brighter in some rows, which say what it shows. */
  public static Digits noise(int n, long seed) {
    Random random = new Random(seed);
    float[] pixels = new float[n * MnistData.PIXELS];
    long[] labels = new long[n];
    for (int i = 0; i < n; i++) {
      labels[i] = random.nextInt(MnistData.CLASSES);
      for (int j = 0; j < MnistData.PIXELS; j++) {
        boolean lit = j / 78 == labels[i];
        pixels[i * MnistData.PIXELS + j] = random.nextFloat() * (lit ? 1f : 0.5f);
      }
    }
    return of(pixels, labels);
  }

  private static Digits of(float[] pixels, long[] labels) {
    return new Digits(
        Tensor.of(Shape.of(labels.length, MnistData.PIXELS), pixels), Tensor.vector(labels));
  }

  private static byte[] read(String kind, long from, int n) {
    String name = "/mnist/train-" + kind + "-ubyte.gz";
    try (InputStream in = new GZIPInputStream(MnistData.class.getResourceAsStream(name))) {
      in.skipNBytes(from);
      byte[] bytes = in.readNBytes(n);
      if (bytes.length < n) {
        throw new IOException(name + " ends early");
      }
      return bytes;
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }
}
