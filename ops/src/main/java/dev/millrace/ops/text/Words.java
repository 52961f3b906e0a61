package dev.millrace.ops.text;

import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.UnaryOperator;

/** What the ops of this package share. */
final class Words {
  static final String NO_GRADIENT = "a string is not a number";

  private Words() {}

  /** The elements of a tensor of strings, changed one by one. */
  static void map(KernelContext c, UnaryOperator<byte[]> f) {
    Tensor in = c.input(0);
    Object[] out = new Object[Math.toIntExact(in.elements())];
    for (int i = 0; i < out.length; i++) {
      out[i] = f.apply(in.bytesAt(i));
    }
    c.output(0, Refs.ofObjects(DType.STRING, in.shape(), out));
  }

  /** Sets output {@code i} to a vector of strings. */
  static void output(KernelContext c, int i, List<byte[]> strings) {
    c.output(
        i, Refs.ofObjects(DType.STRING, Shape.of(strings.size()), strings.toArray(new Object[0])));
  }

  /** Sets output {@code i} to a tensor of integers of the output's type. */
  static void output(KernelContext c, int i, Shape shape, List<Long> numbers) {
    Tensor t = c.allocate(i, shape);
    for (int k = 0; k < numbers.size(); k++) {
      t.setLong(k, numbers.get(k));
    }
  }

  static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }

  static String text(byte[] s) {
    return new String(s, StandardCharsets.UTF_8);
  }

  /** A character for each byte. */
  static String latin(byte[] s) {
    return new String(s, StandardCharsets.ISO_8859_1);
  }

  static byte[] latin(String s) {
    return s.getBytes(StandardCharsets.ISO_8859_1);
  }

  /** Begins the definition of an op on strings, which has no gradient. */
  static Op.Builder define(String name) {
    return Op.define(name).noGradient(NO_GRADIENT);
  }

  static boolean isSpace(int b) {
    return b == ' ' || (b >= '\t' && b <= '\r');
  }
}
