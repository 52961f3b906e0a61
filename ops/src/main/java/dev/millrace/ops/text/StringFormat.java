package dev.millrace.ops.text;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** A text with tensors in the place of its placeholders. */
final class StringFormat {
  static final Op OP =
      Words.define("StringFormat")
          .attr("T: list(type) >= 0")
          .attr("template: string = '%s'")
          .attr("placeholder: string = '%s'")
          .attr("summarize: int = 3")
          .input("inputs: T")
          .output("output: string")
          .shape(Shapes.scalar())
          .kernelPerNode(StringFormat::kernel)
          .build();

  private StringFormat() {}

  private static Kernel kernel(Node node) {
    String placeholder = node.stringAttr("placeholder");
    String[] parts = parts(node.stringAttr("template"), placeholder);
    int inputs = node.inputCount();
    if (parts.length - 1 != inputs) {
      throw MillraceException.invalid(
          "num placeholders in template and num inputs must match: %d vs. %d",
          parts.length - 1, inputs);
    }
    long summarize = node.longAttr("summarize");
    return c -> {
      StringBuilder s = new StringBuilder(parts[0]);
      for (int i = 0; i < inputs; i++) {
        summary(c.input(i), summarize, s);
        s.append(parts[i + 1]);
      }
      c.output(
          0,
          Refs.ofObjects(DType.STRING, Shape.scalar(), new Object[] {Words.latin(s.toString())}));
    };
  }

  /** What stands around the placeholders, with a character for each byte. */
  private static String[] parts(String template, String placeholder) {
    String t = Words.latin(Words.bytes(template));
    String p = Words.latin(Words.bytes(placeholder));
    return p.isEmpty() ? new String[] {t} : t.split(java.util.regex.Pattern.quote(p), -1);
  }

  private static void summary(Tensor t, long summarize, StringBuilder to) {
    long n = t.elements();
    if (n == 0 && t.dtype() == DType.BOOL) {
      return; // Not even brackets, in TensorFlow.
    }
    new Summary(t, summarize < 0 ? n : Math.min(summarize, n), to).print(0, 0);
  }

  /**
   * Prints a tensor in brackets.
   *
   * @param ends how many elements are shown from either end of a dimension
   */
  private record Summary(Tensor t, long ends, StringBuilder to) {
    void print(int dim, long at) {
      Shape s = t.shape();
      if (dim == s.rank()) {
        to.append(element(at));
        return;
      }
      long each = s.slice(dim + 1, s.rank()).elements();
      long count = s.dim(dim);
      to.append('[');
      for (long i = 0; i < Math.min(ends, count); i++) {
        if (i > 0) {
          space(dim);
        }
        print(dim + 1, at + each * i);
      }
      if (count > 2 * ends) {
        space(dim);
        to.append("...");
      }
      for (long i = Math.max(ends, count - ends); i < count; i++) {
        space(dim);
        print(dim + 1, at + each * i);
      }
      to.append(']');
    }

    private void space(int dim) {
      int inner = t.shape().rank() - dim - 1;
      to.append(inner == 0 ? " " : "\n".repeat(inner) + " ".repeat(dim + 1));
    }

    private String element(long i) {
      DType type = t.dtype();
      if (type == DType.STRING) {
        return '"' + escaped(t.bytesAt(i)) + '"';
      }
      if (type == DType.DOUBLE) {
        double v = t.doubleAt(i);
        String s = Printf.real(v, 'g', 15);
        return !Double.isFinite(v) || Double.parseDouble(s) == v ? s : Printf.real(v, 'g', 17);
      }
      if (type.isFloating()) {
        float v = (float) t.doubleAt(i);
        String s = Printf.real(v, 'g', 6);
        return !Float.isFinite(v) || Float.parseFloat(s) == v ? s : Printf.real(v, 'g', 9);
      }
      if (type.isPlain() && (type.isIntegral() || type == DType.BOOL)) {
        long v = t.longAt(i);
        return type == DType.UINT64 ? Long.toUnsignedString(v) : Long.toString(v);
      }
      return "?";
    }
  }

  /** As in the source of a C program; what is not ASCII stays. */
  private static String escaped(byte[] s) {
    StringBuilder to = new StringBuilder();
    for (byte b : s) {
      int v = b & 0xFF;
      switch (v) {
        case '\n' -> to.append("\\n");
        case '\r' -> to.append("\\r");
        case '\t' -> to.append("\\t");
        case '"', '\'', '\\' -> to.append('\\').append((char) v);
        default -> {
          if (v < ' ' || v == 0x7F) {
            to.append("\\%03o".formatted(v));
          } else {
            to.append((char) v);
          }
        }
      }
    }
    return to.toString();
  }
}
