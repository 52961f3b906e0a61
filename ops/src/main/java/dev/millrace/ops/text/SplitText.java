package dev.millrace.ops.text;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/** Strings cut into pieces: a sparse matrix with a row for each string. */
final class SplitText {
  /** By any of the delimiter's bytes; an empty one cuts into single bytes. */
  static final Op OP =
      Words.define("StringSplit")
          .attr("skip_empty: bool = true")
          .input("input: string")
          .input("delimiter: string")
          .output("indices: int64")
          .output("values: string")
          .output("shape: int64")
          .shape(SplitText::infer)
          .kernelPerNode(SplitText::byBytes)
          .build();

  /** By the whole separator; an empty one means any space. */
  static final Op V2 =
      Words.define("StringSplitV2")
          .attr("maxsplit: int = -1")
          .input("input: string")
          .input("sep: string")
          .output("indices: int64")
          .output("values: string")
          .output("shape: int64")
          .shape(SplitText::infer)
          .kernelPerNode(SplitText::bySeparator)
          .build();

  static final List<Op> ALL = List.of(OP, V2);

  private SplitText() {}

  private static List<Shape> infer(ShapeContext c) {
    c.inputOfRank(0, 1);
    c.inputOfRank(1, 0);
    return List.of(Shape.of(Shape.UNKNOWN, 2), Shape.of(Shape.UNKNOWN), Shape.of(2));
  }

  private static Kernel byBytes(Node node) {
    boolean skipEmpty = node.booleanAttr("skip_empty");
    return c -> {
      byte[] delimiters = c.input(1).shape().isScalar() ? c.input(1).bytesAt(0) : null;
      split(c, s -> cut(s, delimiters, skipEmpty));
    };
  }

  private static Kernel bySeparator(Node node) {
    long most = node.longAttr("maxsplit");
    return c -> {
      byte[] separator = c.input(1).shape().isScalar() ? c.input(1).bytesAt(0) : new byte[0];
      split(c, s -> separator.length == 0 ? atSpace(s, most) : at(s, separator, most));
    };
  }

  private static void split(KernelContext c, Function<byte[], List<byte[]>> cut) {
    Tensor in = c.input(0);
    if (in.shape().rank() != 1) {
      throw MillraceException.invalid("input must be a vector, got shape: %s", in.shape());
    }
    if (!c.input(1).shape().isScalar()) {
      throw MillraceException.invalid(
          "the separator must be a scalar, got shape: %s", c.input(1).shape());
    }
    List<byte[]> pieces = new ArrayList<>();
    List<Long> places = new ArrayList<>();
    long longest = 0;
    for (long i = 0; i < in.elements(); i++) {
      List<byte[]> row = cut.apply(in.bytesAt(i));
      for (long k = 0; k < row.size(); k++) {
        places.add(i);
        places.add(k);
      }
      pieces.addAll(row);
      longest = Math.max(longest, row.size());
    }
    Words.output(c, 0, Shape.of(pieces.size(), 2), places);
    Words.output(c, 1, pieces);
    Words.output(c, 2, Shape.of(2), List.of(in.elements(), longest));
  }

  private static List<byte[]> cut(byte[] s, byte[] delimiters, boolean skipEmpty) {
    List<byte[]> pieces = new ArrayList<>();
    int from = 0;
    for (int i = 0; i <= s.length; i++) {
      boolean isEnd = i == s.length;
      if (delimiters.length == 0) {
        if (!isEnd) {
          pieces.add(new byte[] {s[i]});
        }
      } else if (isEnd ? s.length > 0 : contains(delimiters, s[i])) {
        if (i > from || !skipEmpty) {
          pieces.add(Arrays.copyOfRange(s, from, i));
        }
        from = i + 1;
      }
    }
    return pieces;
  }

  private static boolean contains(byte[] set, byte b) {
    for (byte one : set) {
      if (one == b) {
        return true;
      }
    }
    return false;
  }

  /** Beyond the limit of pieces, the rest is one more piece, even if it is empty. */
  private static List<byte[]> atSpace(byte[] s, long most) {
    List<byte[]> pieces = new ArrayList<>();
    int i = most == 0 ? 0 : afterSpace(s, 0);
    while (i < s.length && pieces.size() != most) {
      int from = i;
      while (i < s.length && !Words.isSpace(s[i])) {
        i++;
      }
      pieces.add(Arrays.copyOfRange(s, from, i));
      i = afterSpace(s, i);
    }
    if (pieces.size() == most) {
      pieces.add(Arrays.copyOfRange(s, i, s.length));
    }
    return pieces;
  }

  private static int afterSpace(byte[] s, int from) {
    int i = from;
    while (i < s.length && Words.isSpace(s[i])) {
      i++;
    }
    return i;
  }

  private static List<byte[]> at(byte[] s, byte[] separator, long most) {
    String text = Words.latin(s);
    String by = Words.latin(separator);
    List<byte[]> pieces = new ArrayList<>();
    int from = 0;
    int next = text.indexOf(by);
    while (next >= 0 && (most < 0 || pieces.size() < most)) {
      pieces.add(Arrays.copyOfRange(s, from, next));
      from = next + separator.length;
      next = text.indexOf(by, from);
    }
    pieces.add(Arrays.copyOfRange(s, from, s.length));
    return pieces;
  }
}
