package dev.millrace.train.data;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
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

/**
 * IDX files: a type, a number of dimensions, their sizes, and then the elements, all big-endian.
 */
final class IdxFile {
  private IdxFile() {}

  /** The tensor in a file, which may be gzipped. */
  static Tensor read(Path file) {
    try (InputStream raw = new BufferedInputStream(Files.newInputStream(file), 1 << 16);
        DataInputStream in = new DataInputStream(unzipped(raw))) {
      int magic = in.readInt();
      DType dtype = type(magic >>> 8);
      int rank = magic & 0xff;
      if (dtype == null) {
        throw MillraceException.invalid(
            "%s is not an IDX file: it begins with 0x%08x.", file, magic);
      }
      long[] dims = new long[rank];
      for (int i = 0; i < rank; i++) {
        dims[i] = in.readInt();
      }
      return elements(in, dtype, Shape.of(dims));
    } catch (EOFException e) {
      throw new MillraceException(Code.DATA_LOSS, file + " is cut short.", e);
    } catch (IOException e) {
      throw new MillraceException(Code.NOT_FOUND, "Cannot read " + file + ": " + e, e);
    }
  }

  private static InputStream unzipped(InputStream in) throws IOException {
    in.mark(2);
    boolean zipped = in.read() == 0x1f && in.read() == 0x8b;
    in.reset();
    return zipped ? new GZIPInputStream(in, 1 << 16) : in;
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

  private static Tensor elements(DataInputStream in, DType dtype, Shape shape) throws IOException {
    Tensor t = Tensor.allocate(dtype, shape);
    int unit = dtype.bytes();
    byte[] chunk = new byte[1 << 16];
    for (long at = 0; at < t.byteSize(); at += chunk.length) {
      int n = (int) Math.min(chunk.length, t.byteSize() - at);
      in.readFully(chunk, 0, n);
      reverse(chunk, n, unit);
      MemorySegment.copy(chunk, 0, t.data(), ValueLayout.JAVA_BYTE, at, n);
    }
    return t;
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
