package dev.millrace.ops.text;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import java.util.Base64;
import java.util.List;

/** Bytes as letters that may stand in a URL, and back. */
final class Base64Text {
  static final Op ENCODE =
      Words.define("EncodeBase64")
          .attr("pad: bool = false")
          .input("input: string")
          .output("output: string")
          .shape(Shapes.like(0))
          .kernelPerNode(
              node -> {
                Base64.Encoder plain = Base64.getUrlEncoder();
                Base64.Encoder encoder = node.booleanAttr("pad") ? plain : plain.withoutPadding();
                return c -> Words.map(c, encoder::encode);
              })
          .build();

  static final Op DECODE =
      Words.define("DecodeBase64")
          .input("input: string")
          .output("output: string")
          .shape(Shapes.like(0))
          .kernel(c -> Words.map(c, Base64Text::decode))
          .build();

  static final List<Op> ALL = List.of(ENCODE, DECODE);

  private Base64Text() {}

  private static byte[] decode(byte[] s) {
    if (s.length % 4 == 1) {
      throw MillraceException.invalid("Base64 string length cannot be 1 modulo 4.");
    }
    try {
      return Base64.getUrlDecoder().decode(s);
    } catch (IllegalArgumentException e) {
      throw MillraceException.invalid("Invalid character found in base64.");
    }
  }
}
