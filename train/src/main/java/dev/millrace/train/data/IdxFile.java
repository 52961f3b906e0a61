package dev.millrace.train.data;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.Failures;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * IDX files, the form MNIST comes in: a type, a number of dimensions, their sizes, and then the
 * elements, all big-endian. They may be gzipped.
 */
public final class IdxFile {
  private static final int CHUNK = 1 << 16;

  private IdxFile() {}

  /** The tensor in a file. */
  static Tensor read(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      return read(in, file.toString());
    } catch (IOException e) {
      throw new MillraceException(
          Code.NOT_FOUND, "Cannot read " + file + ": " + Failures.reason(e) + ".", e);
    }
  }

  /**
   * The tensor in a stream, which holds nothing else. What is not IDX, or less or more than its
   * header says, is DATA_LOSS; errors of the stream itself are the caller's.
   *
   * @param where the stream is from, for messages
   */
  public static Tensor read(InputStream stream, String where) throws IOException {
    try {
      DataInputStream in = new DataInputStream(unzipped(new BufferedInputStream(stream, CHUNK)));
      int magic = in.readInt();
      DType dtype = type(magic >>> 8);
      if (dtype == null) {
        throw corrupt("%s is not an IDX file: it begins with %08x.", where, magic);
      }
      long[] sizes = new long[magic & 0xff];
      long bytes = dtype.bytes();
      for (int i = 0; i < sizes.length; i++) {
        sizes[i] = Integer.toUnsignedLong(in.readInt());
        bytes = Math.multiplyExact(bytes, sizes[i]);
      }
      Tensor t = allocate(dtype, Shape.of(sizes), bytes, where);
      try {
        fill(t, in, where);
        return t;
      } catch (IOException | RuntimeException e) {
        t.close();
        throw e;
      }
    } catch (EOFException e) {
      throw corrupt("%s is damaged: it is cut off.", where);
    } catch (ZipException e) {
      throw corrupt("%s is damaged: %s.", where, e.getMessage());
    } catch (ArithmeticException e) {
      throw corrupt("%s is damaged: it claims more elements than there can be.", where);
    }
  }

  private static Tensor allocate(DType dtype, Shape shape, long bytes, String where) {
    try {
      return Tensor.allocate(dtype, shape);
    } catch (MillraceException e) {
      if (e.code() != Code.RESOURCE_EXHAUSTED) {
        throw e;
      }
      throw corrupt(
          "%s is damaged, or too large for this machine: it claims to hold %s, %d bytes.",
          where, shape, bytes);
    }
  }

  private static MillraceException corrupt(String format, Object... args) {
    return new MillraceException(Code.DATA_LOSS, String.format(format, args));
  }

  private static InputStream unzipped(InputStream in) throws IOException {
    in.mark(2);
    boolean zipped = in.read() == 0x1f && in.read() == 0x8b;
    in.reset();
    return zipped ? new GZIPInputStream(in, CHUNK) : in;
  }

  private static DType type(int code) {
    return switch (code) {
      case 0x08 -> DType.UINT8;
      case 0x09 -> DType.INT8;
      case 0x0b -> DType.INT16;
      case 0x0c -> DType.INT32;
      case 0x0d -> DType.FLOAT;
      case 0x0e -> DType.DOUBLE;
      default -> null;
    };
  }

  private static void fill(Tensor t, DataInputStream in, String where) throws IOException {
    byte[] chunk = new byte[CHUNK];
    for (long at = 0; at < t.byteSize(); at += chunk.length) {
      int wanted = (int) Math.min(chunk.length, t.byteSize() - at);
      int n = in.readNBytes(chunk, 0, wanted);
      if (n < wanted) {
        throw corrupt(
            "%s is damaged: it should hold %d bytes behind its header but holds %d.",
            where, t.byteSize(), at + n);
      }
      reverse(chunk, n, t.dtype().bytes());
      MemorySegment.copy(chunk, 0, t.data(), ValueLayout.JAVA_BYTE, at, n);
    }
    if (in.read() >= 0) {
      throw corrupt(
          "%s is damaged: it should hold %d bytes behind its header but holds more.",
          where, t.byteSize());
    }
  }

  /** From big-endian to little-endian. */
  private static void reverse(byte[] bytes, int n, int unit) {
    for (int i = 0; unit > 1 && i < n; i += unit) {
      for (int a = i, b = i + unit - 1; a < b; a++, b--) {
        byte x = bytes[a];
        bytes[a] = bytes[b];
        bytes[b] = x;
      }
    }
  }
}
