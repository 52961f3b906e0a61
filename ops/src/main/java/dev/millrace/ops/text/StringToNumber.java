package dev.millrace.ops.text;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Tensor;
import java.util.regex.Pattern;

/** The numbers that strings spell, with space around them or none. */
final class StringToNumber {
  static final Op OP =
      Words.define("StringToNumber")
          .attr("out_type: {float, double, int32, int64, uint32, uint64} = float")
          .input("string_tensor: string")
          .output("output: out_type")
          .shape(Shapes.like(0))
          .kernel(StringToNumber::compute)
          .build();

  /** What Java's parser takes and C's does not. */
  private static final Pattern JAVA_ONLY = Pattern.compile(".*[fFdDyN]");

  private StringToNumber() {}

  private static void compute(KernelContext c) {
    Tensor in = c.input(0);
    Tensor out = c.allocate(0, in.shape());
    for (long i = 0; i < in.elements(); i++) {
      String text = Words.latin(in.bytesAt(i));
      try {
        put(out, i, text.strip());
      } catch (NumberFormatException e) {
        throw MillraceException.invalid(
            "StringToNumberOp could not correctly convert string: %s", text);
      }
    }
  }

  private static void put(Tensor out, long i, String s) {
    switch (out.dtype()) {
      case FLOAT -> out.setDouble(i, special(s, Float.parseFloat(plain(s))));
      case DOUBLE -> out.setDouble(i, special(s, Double.parseDouble(plain(s))));
      case INT32 -> out.setLong(i, Integer.parseInt(s));
      case UINT32 -> out.setLong(i, Integer.parseUnsignedInt(s));
      case UINT64 -> out.setLong(i, Long.parseUnsignedLong(s));
      default -> out.setLong(i, Long.parseLong(s));
    }
  }

  /** The text where Java reads it as C does; 0 for what {@link #special} knows. */
  private static String plain(String s) {
    boolean isSpecial = !Double.isNaN(named(s)) || isNan(s);
    if (!isSpecial && JAVA_ONLY.matcher(s).matches()) {
      throw new NumberFormatException(s);
    }
    return isSpecial ? "0" : s;
  }

  private static double special(String s, double parsed) {
    return isNan(s) ? Double.NaN : Double.isNaN(named(s)) ? parsed : named(s);
  }

  private static boolean isNan(String s) {
    return s.equalsIgnoreCase("nan") || s.equalsIgnoreCase("-nan") || s.equalsIgnoreCase("+nan");
  }

  /** An infinity; no number for any other text. */
  private static double named(String s) {
    String unsigned = s.startsWith("-") || s.startsWith("+") ? s.substring(1) : s;
    if (!unsigned.equalsIgnoreCase("inf")) {
      return Double.NaN;
    }
    return s.startsWith("-") ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
  }
}
