package dev.millrace.ops.io;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The fields of lines of comma-separated values, each as a tensor of the shape of the lines. */
final class DecodeCsv {
  static final Op OP =
      Op.define("DecodeCSV")
          .attr("OUT_TYPE: list({float, double, int32, int64, string}) >= 1")
          .attr("field_delim: string = ','")
          .attr("use_quote_delim: bool = true")
          .attr("na_value: string = ''")
          .attr("select_cols: list(int) = []")
          .input("records: string")
          .input("record_defaults: OUT_TYPE")
          .output("output: OUT_TYPE")
          .shape(DecodeCsv::infer)
          .kernelPerNode(DecodeCsv::kernel)
          .noGradient("text is not differentiable")
          .build();

  private DecodeCsv() {}

  private static List<Shape> infer(ShapeContext c) {
    for (int i = 1; i < c.inputCount(); i++) {
      Shape s = c.input(i);
      if (s.rank() > 1) {
        throw MillraceException.invalid("Shape of a default must be a length-0 or length-1 vector");
      }
      if (s.rank() == 1 && s.dim(0) > 1) {
        throw MillraceException.invalid("Shape of a default must be a length-0 or length-1 vector");
      }
    }
    return Collections.nCopies(c.node().outputCount(), c.input(0));
  }

  private static Kernel kernel(Node node) {
    byte[] delimiter = node.stringAttr("field_delim").getBytes(StandardCharsets.UTF_8);
    if (delimiter.length != 1) {
      throw MillraceException.invalid("field_delim should be only 1 char");
    }
    long[] selected = node.longsAttr("select_cols");
    List<DType> types = node.typesAttr("OUT_TYPE");
    if (selected.length != 0 && selected.length != types.size()) {
      throw MillraceException.invalid("select_cols should match output size");
    }
    for (int i = 0; i < selected.length; i++) {
      if (selected[i] < 0 || (i > 0 && selected[i] <= selected[i - 1])) {
        throw MillraceException.invalid("select_cols should be strictly increasing indices");
      }
    }
    Lines lines =
        new Lines(delimiter[0], node.booleanAttr("use_quote_delim"), node.stringAttr("na_value"));
    return c -> decode(c, lines, selected);
  }

  private static void decode(KernelContext c, Lines lines, long[] selected) {
    Tensor records = c.input(0);
    int n = c.node().outputCount();
    Tensor[] outputs = new Tensor[n];
    for (int i = 0; i < n; i++) {
      Tensor absent = c.input(i + 1);
      if (absent.elements() > 1) {
        throw MillraceException.invalid(
            "There should only be 1 default per field but field %d has %d", i, absent.elements());
      }
      outputs[i] = c.allocate(i, records.shape());
    }
    for (int r = 0; r < records.elements(); r++) {
      List<byte[]> fields = lines.fields(records.bytesAt(r));
      if (selected.length == 0 && fields.size() != n) {
        throw MillraceException.invalid(
            "Expect %d fields but have %d in record %d", n, fields.size(), r);
      }
      for (int i = 0; i < n; i++) {
        long column = selected.length == 0 ? i : selected[i];
        if (column >= fields.size()) {
          throw MillraceException.invalid(
              "Expect %d fields but have %d in record %d", n, Math.min(i, fields.size()), r);
        }
        put(lines, fields.get((int) column), i, r, c.input(i + 1), outputs[i]);
      }
    }
  }

  private static void put(Lines lines, byte[] field, int i, int r, Tensor absent, Tensor out) {
    boolean missing =
        field.length == 0 || new String(field, StandardCharsets.UTF_8).equals(lines.absent());
    if (missing && absent.elements() != 1) {
      throw MillraceException.invalid("Field %d is required but missing in record %d!", i, r);
    }
    if (out.dtype() == DType.STRING) {
      out.objects()[r] = missing ? absent.bytesAt(0) : field;
    } else if (out.dtype().isFloating()) {
      out.setDouble(r, missing ? absent.doubleAt(0) : real(field, i, r, out.dtype()));
    } else {
      out.setLong(r, missing ? absent.longAt(0) : whole(field, i, r, out.dtype()));
    }
  }

  private static double real(byte[] field, int i, int r, DType type) {
    String text = new String(field, StandardCharsets.UTF_8).strip();
    try {
      // Java would take a suffix, too.
      boolean suffixed = !text.isEmpty() && "fFdD".indexOf(text.charAt(text.length() - 1)) >= 0;
      return switch (text.toLowerCase(java.util.Locale.ROOT)) {
        case "nan", "+nan", "-nan" -> Double.NaN;
        case "inf", "+inf", "infinity", "+infinity" -> Double.POSITIVE_INFINITY;
        case "-inf", "-infinity" -> Double.NEGATIVE_INFINITY;
        default -> {
          if (suffixed) {
            throw new NumberFormatException(text);
          }
          yield type == DType.FLOAT ? Float.parseFloat(text) : Double.parseDouble(text);
        }
      };
    } catch (NumberFormatException e) {
      throw invalid(field, i, r, type);
    }
  }

  private static long whole(byte[] field, int i, int r, DType type) {
    String text = new String(field, StandardCharsets.UTF_8).strip();
    try {
      // A sign other than minus is none to TensorFlow.
      if (text.startsWith("+")) {
        throw new NumberFormatException(text);
      }
      return type == DType.INT32 ? Integer.parseInt(text) : Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw invalid(field, i, r, type);
    }
  }

  private static MillraceException invalid(byte[] field, int i, int r, DType type) {
    return MillraceException.invalid(
        "Field %d in record %d is not a valid %s: %s",
        i, r, type, new String(field, StandardCharsets.UTF_8));
  }

  /**
   * How lines are written.
   *
   * @param absent what stands for a field that is not there, beside nothing
   */
  private record Lines(byte delimiter, boolean quotes, String absent) {
    List<byte[]> fields(byte[] line) {
      List<byte[]> fields = new ArrayList<>();
      int at = 0;
      while (at < line.length) {
        if (line[at] == '\n' || line[at] == '\r') {
          at++;
        } else if (quotes && line[at] == '"') {
          at = quoted(line, at + 1, fields);
        } else {
          at = plain(line, at, fields);
        }
      }
      // A delimiter at the end is followed by an empty field.
      if (line.length == 0 || line[line.length - 1] == delimiter) {
        fields.add(new byte[0]);
      }
      return fields;
    }

    /** Adds the field that begins at {@code at}; says where the next one does. */
    private int plain(byte[] line, int at, List<byte[]> fields) {
      ByteArrayOutputStream field = new ByteArrayOutputStream();
      while (at < line.length && line[at] != delimiter) {
        byte b = line[at++];
        if (b == '\n' || b == '\r' || (quotes && b == '"')) {
          throw MillraceException.invalid("Unquoted fields cannot have quotes/CRLFs inside");
        }
        field.write(b);
      }
      fields.add(field.toByteArray());
      return at + 1;
    }

    /** The same behind an opening quote; two quotes inside are one. */
    private int quoted(byte[] line, int at, List<byte[]> fields) {
      ByteArrayOutputStream field = new ByteArrayOutputStream();
      for (; at < line.length; at++) {
        if (line[at] != '"') {
          field.write(line[at]);
        } else if (at + 1 < line.length && line[at + 1] == '"') {
          field.write(line[at++]);
        } else {
          break;
        }
      }
      if (at >= line.length) {
        throw MillraceException.invalid(
            "Quoted field has to end with quote followed by delim or end");
      }
      at++;
      while (at < line.length && (line[at] == '\n' || line[at] == '\r')) {
        at++;
      }
      if (at < line.length && line[at] != delimiter) {
        throw MillraceException.invalid("Quote inside a string has to be escaped by another quote");
      }
      fields.add(field.toByteArray());
      return at + 1;
    }
  }
}
