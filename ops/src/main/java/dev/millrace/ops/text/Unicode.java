package dev.millrace.ops.text;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;

/** Text in another encoding, as code points, and made of these. */
final class Unicode {
  static final Op TRANSCODE =
      Words.define("UnicodeTranscode")
          .attr("input_encoding: string")
          .attr("output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}")
          .attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
          .attr("replacement_char: int = 65533")
          .attr("replace_control_characters: bool = false")
          .input("input: string")
          .output("output: string")
          .shape(Shapes.like(0))
          .kernelPerNode(Unicode::transcode)
          .build();

  static final Op ENCODE =
      Words.define("UnicodeEncode")
          .attr("errors: {'ignore', 'replace', 'strict'} = 'replace'")
          .attr("output_encoding: {'UTF-8', 'UTF-16-BE', 'UTF-32-BE'}")
          .attr("replacement_char: int = 65533")
          .attr("Tsplits: {int32, int64} = int64")
          .input("input_values: int32")
          .input("input_splits: Tsplits")
          .output("output: string")
          .shape(
              c -> {
                c.inputOfRank(0, 1);
                long n = c.inputOfRank(1, 1).dim(0);
                return List.of(Shape.of(n < 0 ? Shape.UNKNOWN : Math.max(0, n - 1)));
              })
          .kernelPerNode(Unicode::encode)
          .build();

  static final List<Op> ALL =
      List.of(
          TRANSCODE,
          ENCODE,
          decode("UnicodeDecode", false),
          decode("UnicodeDecodeWithOffsets", true));

  private Unicode() {}

  private static Op decode(String name, boolean withOffsets) {
    Op.Builder op =
        Words.define(name)
            .attr("input_encoding: string")
            .attr("errors: {'strict', 'replace', 'ignore'} = 'replace'")
            .attr("replacement_char: int = 65533")
            .attr("replace_control_characters: bool = false")
            .attr("Tsplits: {int32, int64} = int64")
            .input("input: string")
            .output("row_splits: Tsplits")
            .output("char_values: int32");
    if (withOffsets) {
      op.output("char_to_byte_starts: int64");
    }
    return op.shape(c -> splitShapes(c, withOffsets))
        .kernelPerNode(node -> decode(node, withOffsets))
        .build();
  }

  private static List<Shape> splitShapes(ShapeContext c, boolean withOffsets) {
    Shape s = c.input(0);
    long n = s.isKnown() ? s.elements() + 1 : Shape.UNKNOWN;
    Shape many = Shape.of(Shape.UNKNOWN);
    return withOffsets ? List.of(Shape.of(n), many, many) : List.of(Shape.of(n), many);
  }

  private static Kernel transcode(Node node) {
    CodePoints.ErrorPolicy errors = CodePoints.ErrorPolicy.of(node);
    CodePoints.Reader reader = CodePoints.reader(node.stringAttr("input_encoding"));
    CodePoints.Writer writer = CodePoints.writer(node.stringAttr("output_encoding"));
    return c ->
        Words.map(
            c,
            s -> {
              ByteArrayOutputStream to = new ByteArrayOutputStream();
              reader.read(
                  s,
                  (codePoint, from, end) -> {
                    int taken = errors.resolve(codePoint);
                    if (taken >= 0) {
                      writer.write(taken, to);
                    }
                  });
              return to.toByteArray();
            });
  }

  private static Kernel decode(Node node, boolean withOffsets) {
    CodePoints.ErrorPolicy errors = CodePoints.ErrorPolicy.of(node);
    CodePoints.Reader reader = CodePoints.reader(node.stringAttr("input_encoding"));
    return c -> {
      Tensor in = c.input(0);
      List<Long> splits = new ArrayList<>(List.of(0L));
      List<Long> values = new ArrayList<>();
      List<Long> starts = new ArrayList<>();
      for (long i = 0; i < in.elements(); i++) {
        reader.read(
            in.bytesAt(i),
            (codePoint, from, end) -> {
              int taken = errors.resolve(codePoint);
              if (taken >= 0) {
                values.add((long) taken);
                starts.add((long) from);
              }
            });
        splits.add((long) values.size());
      }
      Words.output(c, 0, Shape.of(splits.size()), splits);
      Words.output(c, 1, Shape.of(values.size()), values);
      if (withOffsets) {
        Words.output(c, 2, Shape.of(starts.size()), starts);
      }
    };
  }

  private static Kernel encode(Node node) {
    CodePoints.ErrorPolicy errors = CodePoints.ErrorPolicy.of(node);
    CodePoints.Writer writer = CodePoints.writer(node.stringAttr("output_encoding"));
    return c -> {
      Tensor values = c.input(0);
      long[] splits = c.input(1).toLongs();
      check(splits, values.elements());
      List<byte[]> texts = new ArrayList<>();
      for (int i = 0; i + 1 < splits.length; i++) {
        ByteArrayOutputStream to = new ByteArrayOutputStream();
        for (long k = splits[i]; k < splits[i + 1]; k++) {
          int codePoint = (int) values.longAt(k);
          boolean isValid = CodePoints.isValid(codePoint);
          if (!isValid && errors.policy().equals("strict")) {
            throw MillraceException.invalid(
                "Code point is out of range for Unicode, or a noncharacter.");
          }
          int taken = errors.resolve(isValid ? codePoint : CodePoints.INVALID);
          if (taken >= 0) {
            writer.write(taken, to);
          }
        }
        texts.add(to.toByteArray());
      }
      Words.output(c, 0, texts);
    };
  }

  private static void check(long[] splits, long values) {
    if (splits.length == 0) {
      throw MillraceException.invalid(
          "Input_splits should contain elements, but given input_values has 0 elements");
    }
    if (splits[0] != 0) {
      throw MillraceException.invalid(
          "First value in input_splits must be zero, got %d", splits[0]);
    }
    for (int i = 1; i < splits.length; i++) {
      if (splits[i] < splits[i - 1]) {
        throw MillraceException.invalid(
            "Values in input_splits must be equal or in ascending order.");
      }
      if (splits[i] > values) {
        throw MillraceException.invalid(
            "Values in input_splits must be less than or equal to input_tensor length.");
      }
    }
  }
}
