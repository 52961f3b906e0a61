package dev.millrace.interop;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.StringJoiner;

/** Writes a tensor to a file that NumPy reads: the .npy format, version 1. */
final class Npy {
  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};

  private Npy() {}

  static void write(Path file, Tensor tensor) {
    StringJoiner shape = new StringJoiner(",", "(", ",)").setEmptyValue("()");
    for (long d : tensor.shape().dims()) {
      shape.add(Long.toString(d));
    }
    String header =
        "{'descr': '<%s', 'fortran_order': False, 'shape': %s}"
            .formatted(code(tensor.dtype()), shape);
    // The data begins at a multiple of 64 bytes, the header ends with a new line.
    int padding = 63 - (MAGIC.length + 2 + header.length()) % 64;
    byte[] padded = (header + " ".repeat(padding) + "\n").getBytes(StandardCharsets.US_ASCII);
    try (OutputStream out = Files.newOutputStream(file)) {
      out.write(MAGIC);
      out.write(padded.length & 0xFF);
      out.write(padded.length >> 8);
      out.write(padded);
      out.write(tensor.data().toArray(ValueLayout.JAVA_BYTE));
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }

  private static String code(DType dtype) {
    return switch (dtype) {
      case FLOAT -> "f4";
      case DOUBLE -> "f8";
      case INT32 -> "i4";
      case INT64 -> "i8";
      default -> throw new IllegalArgumentException("no .npy of " + dtype);
    };
  }
}
