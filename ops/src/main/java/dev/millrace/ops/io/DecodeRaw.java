package dev.millrace.ops.io;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** The bytes of strings, all of one length, as numbers along a new last dimension. */
final class DecodeRaw {
  static final Op OP =
      Op.define("DecodeRaw")
          .attr(
              "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64,"
                  + " complex128, bool, bfloat16}")
          .attr("little_endian: bool = true")
          .input("bytes: string")
          .output("output: out_type")
          .shape(
              c -> {
                Shape s = c.input(0);
                return List.of(s.hasRank() ? s.concat(Shape.of(Shape.UNKNOWN)) : Shape.unknown());
              })
          .kernelPerNode(DecodeRaw::kernel)
          .noGradient("bytes are not differentiable")
          .build();

  private DecodeRaw() {}

  private static Kernel kernel(Node node) {
    DType type = node.typeAttr("out_type");
    boolean complex = type == DType.COMPLEX64 || type == DType.COMPLEX128;
    int number = complex ? type.bytes() / 2 : type.bytes();
    boolean swapped = !node.booleanAttr("little_endian") && number > 1;
    return c -> decode(c, type, swapped ? number : 1);
  }

  /** Bytes are reversed in groups of {@code number}. */
  private static void decode(KernelContext c, DType type, int number) {
    Tensor in = c.input(0);
    int n = (int) in.elements();
    int length = n == 0 ? 0 : in.bytesAt(0).length;
    for (int i = 0; i < n; i++) {
      int other = in.bytesAt(i).length;
      if (other != length) {
        throw MillraceException.invalid(
            "DecodeRaw requires input strings to all be the same size, but element %d has size %d"
                + " != %d",
            i, other, length);
      }
    }
    if (length % type.bytes() != 0) {
      throw MillraceException.invalid(
          "Input to DecodeRaw has length %d that is not a multiple of %d, the size of %s",
          length, type.bytes(), type);
    }
    Tensor out = c.allocate(0, in.shape().concat(Shape.of(length / type.bytes())));
    for (int i = 0; i < n && length > 0; i++) {
      byte[] bytes = in.bytesAt(i);
      MemorySegment to = out.data().asSlice((long) i * length, length);
      if (number == 1) {
        MemorySegment.copy(bytes, 0, to, ValueLayout.JAVA_BYTE, 0, length);
        continue;
      }
      for (int k = 0; k < length; k++) {
        int start = k - k % number;
        to.set(ValueLayout.JAVA_BYTE, start + number - 1 - k % number, bytes[k]);
      }
    }
  }
}
