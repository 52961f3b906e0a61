package dev.millrace.ops.text;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.BroadcastIndex;
import java.util.Arrays;
import java.util.List;

/** Parts of strings, in bytes or in characters; positions below 0 count from the end. */
final class Substr {
  static final Op OP =
      Words.define("Substr")
          .attr("T: {int32, int64}")
          .attr("unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
          .input("input: string")
          .input("pos: T")
          .input("len: T")
          .output("output: string")
          .shape(
              c -> {
                Shape places = c.input(1);
                if (!places.isCompatibleWith(c.input(2))) {
                  throw MillraceException.invalid(
                      "pos and len must have the same shape; they have %s and %s.",
                      places, c.input(2));
                }
                return List.of(Shape.broadcast(c.input(0), places));
              })
          .kernelPerNode(Substr::kernel)
          .build();

  private Substr() {}

  private static Kernel kernel(Node node) {
    boolean inCharacters = node.stringAttr("unit").equals("UTF8_CHAR");
    return c -> {
      Tensor in = c.input(0);
      Tensor pos = c.input(1);
      Tensor len = c.input(2);
      if (!pos.shape().equals(len.shape())) {
        throw MillraceException.invalid(
            "pos and len should have the same shape, got: %s vs. %s", pos.shape(), len.shape());
      }
      Shape shape = Shape.broadcast(in.shape(), pos.shape());
      Object[] parts = new Object[Math.toIntExact(shape.elements())];
      BroadcastIndex ofString = new BroadcastIndex(in.shape(), shape);
      BroadcastIndex ofPlace = new BroadcastIndex(pos.shape(), shape);
      for (int i = 0; i < parts.length; i++) {
        byte[] s = in.bytesAt(ofString.of(i));
        long place = ofPlace.of(i);
        parts[i] = part(s, pos.longAt(place), len.longAt(place), inCharacters, i);
      }
      c.output(0, Refs.ofObjects(DType.STRING, shape, parts));
    };
  }

  private static byte[] part(byte[] s, long pos, long len, boolean inCharacters, int index) {
    int size = inCharacters ? characters(s) : s.length;
    if (pos > size || pos < -(long) size) {
      throw MillraceException.invalid(
          "pos %d out of range for string b'%s' at index %d", pos, Words.text(s), index);
    }
    int from = (int) (pos < 0 ? pos + size : pos);
    int to = (int) Math.min(size, from + Math.max(0, Math.min(len, size)));
    return inCharacters
        ? Arrays.copyOfRange(s, offset(s, from), offset(s, to))
        : Arrays.copyOfRange(s, from, to);
  }

  /** How many characters of UTF-8 there are: all bytes that go on with none. */
  static int characters(byte[] s) {
    int n = 0;
    for (byte b : s) {
      n += isStart(b) ? 1 : 0;
    }
    return n;
  }

  private static boolean isStart(byte b) {
    return (b & 0xC0) != 0x80;
  }

  /** Where character {@code n} begins. */
  private static int offset(byte[] s, int n) {
    int left = n;
    for (int i = 0; i < s.length; i++) {
      if (isStart(s[i]) && left-- == 0) {
        return i;
      }
    }
    return s.length;
  }
}
