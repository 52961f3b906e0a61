package dev.millrace.job.report;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How a program says in one sentence why it failed, and where. */
public final class JobError {
  /** The lines that name the nodes of a failed step. */
  private static final Pattern NODES = Pattern.compile("\\n\\t \\[\\[\\{\\{node ([^}\\n]*)[^\\n]*");

  private JobError() {}

  /** The failure that {@code e} is, of the kind that a person can correct where it is one. */
  public static MillraceException of(Throwable e) {
    for (Throwable t = e; t != null; t = t.getCause()) {
      if (t instanceof NoClassDefFoundError || t instanceof ClassNotFoundException) {
        String name = String.valueOf(t.getMessage()).replace('/', '.');
        return new MillraceException(
            Code.NOT_FOUND,
            "Class " + name + " was not found: its jar is not on the class path of this task.",
            e);
      }
    }
    return MillraceException.of(e);
  }

  /** The sentence; the first node that is named stands at its end. */
  public static String sentence(MillraceException e) {
    String text = String.valueOf(e.getMessage());
    Matcher node = NODES.matcher(text);
    if (!node.find()) {
      return text;
    }
    String sentence = node.replaceAll("").strip();
    String place =
        " (node '" + node.reset(text).results().findFirst().orElseThrow().group(1) + "')";
    return sentence.endsWith(".")
        ? sentence.substring(0, sentence.length() - 1) + place + "."
        : sentence + place + ".";
  }
}
