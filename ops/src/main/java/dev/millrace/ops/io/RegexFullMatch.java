package dev.millrace.ops.io;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Whether strings match a pattern from beginning to end. The pattern is Java's kind; what
 * TensorFlow's savers use means the same in both.
 */
public final class RegexFullMatch {
  private static final String WHY = "a match is not a number";

  public static final Op STATIC =
      Op.define("StaticRegexFullMatch")
          .attr("pattern: string")
          .input("input: string")
          .output("output: bool")
          .shape(Shapes.like(0))
          .kernelPerNode(
              node -> {
                Pattern pattern = compile(node.stringAttr("pattern"));
                return c -> match(c, pattern);
              })
          .noGradient(WHY)
          .build();

  public static final Op OP =
      Op.define("RegexFullMatch")
          .input("input: string")
          .input("pattern: string")
          .output("output: bool")
          .shape(Shapes.like(0))
          .kernel(c -> match(c, compile(FileNames.scalar(c, 1).stringAt(0))))
          .noGradient(WHY)
          .build();

  static final List<Op> ALL = List.of(STATIC, OP);

  private RegexFullMatch() {}

  private static Pattern compile(String pattern) {
    try {
      return Pattern.compile(pattern, Pattern.UNIX_LINES);
    } catch (PatternSyntaxException e) {
      throw MillraceException.invalid("Invalid pattern: %s", e.getMessage());
    }
  }

  private static void match(KernelContext c, Pattern pattern) {
    Tensor in = c.input(0);
    Tensor out = c.allocate(0, in.shape());
    for (long i = 0; i < in.elements(); i++) {
      out.setLong(i, pattern.matcher(in.stringAt(i)).matches() ? 1 : 0);
    }
  }
}
