package dev.millrace.ops.text;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;

/** Numbers as text, in C's formats. */
final class AsString {
  static final Op OP =
      Words.define("AsString")
          .attr(
              "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32,"
                  + " uint64, complex64, complex128, bool, variant, string}")
          .attr("precision: int = -1")
          .attr("scientific: bool = false")
          .attr("shortest: bool = false")
          .attr("width: int = -1")
          .attr("fill: string = ''")
          .input("input: T")
          .output("output: string")
          .shape(Shapes.like(0))
          .kernelPerNode(AsString::kernel)
          .build();

  private AsString() {}

  private static Kernel kernel(Node node) {
    DType type = node.typeAttr("T");
    int precision = node.intAttr("precision");
    int width = node.intAttr("width");
    boolean scientific = node.booleanAttr("scientific");
    boolean shortest = node.booleanAttr("shortest");
    String fill = node.stringAttr("fill");
    check(type, precision, scientific, shortest, fill);
    char conversion = scientific ? 'e' : shortest ? 'g' : 'f';
    char flag = fill.isEmpty() ? 0 : fill.charAt(0);
    return c -> {
      Tensor in = c.input(0);
      Object[] out = new Object[Math.toIntExact(in.elements())];
      for (int i = 0; i < out.length; i++) {
        if (type == DType.STRING) {
          out[i] = in.bytesAt(i);
        } else if (type == DType.BOOL) {
          out[i] = Words.bytes(in.booleanAt(i) ? "true" : "false");
        } else if (type.isFloating()) {
          out[i] = Words.bytes(real(in.doubleAt(i), conversion, precision, flag, width));
        } else if (type.isComplex()) {
          Complex v = ComplexElements.at(type, in.data(), i);
          String re = real(v.re(), conversion, precision, flag, width);
          String im = real(v.im(), conversion, precision, flag, width);
          out[i] = Words.bytes("(" + re + "," + im + ")");
        } else {
          long v = in.longAt(i);
          String s = type == DType.UINT64 ? Long.toUnsignedString(v) : Long.toString(v);
          boolean hasSign = !type.isUnsigned() || (flag != '+' && flag != ' ');
          out[i] = Words.bytes(Printf.padded(s, hasSign ? flag : 0, width, true));
        }
      }
      c.output(0, Refs.ofObjects(DType.STRING, in.shape(), out));
    };
  }

  private static String real(double v, char conversion, int precision, char flag, int width) {
    String s = Printf.real(v, conversion, precision);
    return Printf.padded(s, flag, width, Double.isFinite(v));
  }

  private static void check(
      DType type, int precision, boolean scientific, boolean shortest, String fill) {
    if (type == DType.VARIANT) {
      throw new MillraceException(Code.UNIMPLEMENTED, "AsString cannot print " + type + " here.");
    }
    if (!type.isDifferentiable() && (scientific || shortest)) {
      throw MillraceException.invalid(
          "scientific and shortest format not supported for datatype %s", type);
    }
    if (!type.isDifferentiable() && precision >= 0) {
      throw MillraceException.invalid("precision not supported for datatype %s", type);
    }
    if (scientific && shortest) {
      throw MillraceException.invalid("Cannot select both scientific and shortest notation");
    }
    if (fill.length() > 1) {
      throw MillraceException.invalid("Fill string must be one or fewer characters");
    }
    if (!fill.isEmpty() && " +-0#".indexOf(fill.charAt(0)) < 0) {
      throw MillraceException.invalid("Fill argument not supported: \"%s\"", fill);
    }
  }
}
