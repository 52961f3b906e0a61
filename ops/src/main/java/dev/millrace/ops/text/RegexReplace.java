package dev.millrace.ops.text;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Strings with what matches a pattern written anew, where {@code \1} to {@code \9} stand for the
 * groups of the match and {@code \0} for all of it.
 */
final class RegexReplace {
  static final Op STATIC =
      Words.define("StaticRegexReplace")
          .attr("pattern: string")
          .attr("rewrite: string")
          .attr("replace_global: bool = true")
          .input("input: string")
          .output("output: string")
          .shape(Shapes.like(0))
          .kernelPerNode(
              node -> {
                boolean isGlobal = node.booleanAttr("replace_global");
                Pattern pattern = compile(node.stringAttr("pattern"));
                String rewrite = replacement(pattern, node.stringAttr("rewrite"));
                return c -> replace(c, pattern, rewrite, isGlobal);
              })
          .build();

  static final Op OP =
      Words.define("RegexReplace")
          .attr("replace_global: bool = true")
          .input("input: string")
          .input("pattern: string")
          .input("rewrite: string")
          .output("output: string")
          .shape(
              c -> {
                c.inputOfRank(1, 0);
                c.inputOfRank(2, 0);
                return List.of(c.input(0));
              })
          .kernelPerNode(
              node -> {
                boolean isGlobal = node.booleanAttr("replace_global");
                return c -> {
                  Pattern pattern = compile(scalar(c, 1, "Pattern"));
                  String rewrite = replacement(pattern, scalar(c, 2, "Rewrite"));
                  replace(c, pattern, rewrite, isGlobal);
                };
              })
          .build();

  private RegexReplace() {}

  private static String scalar(KernelContext c, int input, String what) {
    Tensor t = c.input(input);
    if (!t.shape().isScalar()) {
      throw MillraceException.invalid("%s must be scalar, but received %s", what, t.shape());
    }
    return Words.text(t.bytesAt(0));
  }

  private static Pattern compile(String pattern) {
    try {
      return Pattern.compile(pattern, Pattern.UNIX_LINES);
    } catch (PatternSyntaxException e) {
      throw MillraceException.invalid(
          "Invalid pattern: %s, error: %s", pattern, e.getDescription());
    }
  }

  /** The rewrite in Java's notation. */
  private static String replacement(Pattern pattern, String rewrite) {
    int groups = pattern.matcher("").groupCount();
    StringBuilder out = new StringBuilder();
    int i = 0;
    while (i < rewrite.length()) {
      char ch = rewrite.charAt(i++);
      if (ch != '\\') {
        out.append(Matcher.quoteReplacement(String.valueOf(ch)));
        continue;
      }
      char next = i < rewrite.length() ? rewrite.charAt(i++) : 0;
      if (next >= '0' && next <= '9' && next - '0' <= groups) {
        // In braces Java would look for a name; a digit behind the group must not join it.
        out.append('$').append(next);
        if (i < rewrite.length() && Character.isDigit(rewrite.charAt(i))) {
          out.append('\\');
        }
      } else if (next == '\\') {
        out.append("\\\\");
      } else {
        throw MillraceException.invalid(
            "Invalid rewrite '%s': behind a backslash there must be a backslash or the number of"
                + " one of the %d groups of '%s'.",
            rewrite, groups, pattern);
      }
    }
    return out.toString();
  }

  private static void replace(KernelContext c, Pattern pattern, String rewrite, boolean isGlobal) {
    Words.map(
        c,
        s -> {
          Matcher m = pattern.matcher(Words.text(s));
          if (!m.find()) {
            return s;
          }
          return Words.bytes(isGlobal ? m.replaceAll(rewrite) : m.replaceFirst(rewrite));
        });
  }
}
