package dev.millrace.ops.text;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** Eight bytes that tell each row of a tensor from others. */
final class Fingerprint {
  static final Op OP =
      Op.define("Fingerprint")
          .attr("T: type")
          .input("data: T")
          .input("method: string")
          .output("fingerprint: uint8")
          .shape(
              c -> {
                Shape data = c.input(0);
                if (data.isScalar()) {
                  throw MillraceException.invalid("Shape must be at least rank 1 but is rank 0");
                }
                c.inputOfRank(1, 0);
                return List.of(Shape.of(data.hasRank() ? data.dim(0) : Shape.UNKNOWN, Long.BYTES));
              })
          .kernel(Fingerprint::compute)
          .noGradient("a hash is piecewise constant")
          .build();

  private Fingerprint() {}

  private static void compute(KernelContext c) {
    Tensor data = c.input(0);
    Tensor method = c.input(1);
    if (!method.shape().isScalar()) {
      throw MillraceException.invalid("`method` should be a scalar string: %s", method.shape());
    }
    if (!method.stringAt(0).equals("farmhash64")) {
      throw MillraceException.invalid("Unsupported fingerprint method: %s", method.stringAt(0));
    }
    if (data.shape().rank() < 1) {
      throw MillraceException.invalid("`data` should have at least one dimension");
    }
    long rows = data.shape().dim(0);
    Tensor out = c.allocate(0, Shape.of(rows, Long.BYTES));
    long each = rows == 0 ? 0 : data.elements() / rows;
    for (long row = 0; row < rows; row++) {
      long hash = StringHash.farm(bytes(data, row * each, each));
      for (int i = 0; i < Long.BYTES; i++) {
        out.setLong(row * Long.BYTES + i, hash >>> 8 * i & 0xFF);
      }
    }
  }

  /** The bytes of a row: of several strings, their fingerprints. */
  private static byte[] bytes(Tensor data, long from, long count) {
    if (data.dtype() != DType.STRING) {
      long size = data.dtype().bytes();
      return data.data().asSlice(from * size, count * size).toArray(ValueLayout.JAVA_BYTE);
    }
    if (count == 1) {
      return data.bytesAt(from);
    }
    ByteBuffer hashes =
        ByteBuffer.allocate(Math.toIntExact(count * Long.BYTES)).order(ByteOrder.LITTLE_ENDIAN);
    for (long i = 0; i < count; i++) {
      hashes.putLong(StringHash.farm(data.bytesAt(from + i)));
    }
    return hashes.array();
  }
}
