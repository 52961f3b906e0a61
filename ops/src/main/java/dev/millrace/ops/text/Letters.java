package dev.millrace.ops.text;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;

/** Strings in other letters, without the space around them, and their lengths. */
final class Letters {
  static final Op STRIP =
      Words.define("StringStrip")
          .input("input: string")
          .output("output: string")
          .shape(Shapes.like(0))
          .kernel(c -> Words.map(c, Letters::strip))
          .build();

  static final Op LENGTH =
      Words.define("StringLength")
          .attr("unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
          .input("input: string")
          .output("output: int32")
          .shape(Shapes.like(0))
          .kernelPerNode(Letters::length)
          .build();

  static final List<Op> ALL =
      List.of(
          STRIP,
          LENGTH,
          cased("StringLower", 'A', s -> s.toLowerCase(Locale.ROOT)),
          cased("StringUpper", 'a', s -> s.toUpperCase(Locale.ROOT)));

  private Letters() {}

  /** The other case: of the letters from {@code first} on, or of all there are in Unicode. */
  private static Op cased(String name, char first, UnaryOperator<String> unicode) {
    return Words.define(name)
        .attr("encoding: string = ''")
        .input("input: string")
        .output("output: string")
        .shape(Shapes.like(0))
        .kernelPerNode(
            node -> {
              String encoding = node.stringAttr("encoding");
              if (!encoding.isEmpty() && !encoding.equals("utf-8")) {
                throw MillraceException.invalid(
                    "only utf-8 or '' (no encoding) is supported, received %s", encoding);
              }
              return encoding.isEmpty()
                  ? c -> Words.map(c, s -> otherCase(s, first))
                  : c -> Words.map(c, s -> Words.bytes(unicode.apply(Words.text(s))));
            })
        .build();
  }

  private static byte[] otherCase(byte[] s, char first) {
    byte[] other = s.clone();
    for (int i = 0; i < s.length; i++) {
      if (s[i] >= first && s[i] < first + 26) {
        other[i] ^= 'a' ^ 'A';
      }
    }
    return other;
  }

  private static byte[] strip(byte[] s) {
    int from = 0;
    int to = s.length;
    while (from < to && Words.isSpace(s[from])) {
      from++;
    }
    while (to > from && Words.isSpace(s[to - 1])) {
      to--;
    }
    return Arrays.copyOfRange(s, from, to);
  }

  private static Kernel length(Node node) {
    boolean inCharacters = node.stringAttr("unit").equals("UTF8_CHAR");
    return c -> {
      Tensor in = c.input(0);
      Tensor out = c.allocate(0, in.shape());
      for (long i = 0; i < in.elements(); i++) {
        byte[] s = in.bytesAt(i);
        out.setLong(i, inCharacters ? Substr.characters(s) : s.length);
      }
    };
  }
}
