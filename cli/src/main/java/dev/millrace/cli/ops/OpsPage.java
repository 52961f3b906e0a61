package dev.millrace.cli.ops;

import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeSet;

/** The page docs/ops.md, all of it made from the registry and the lists of TensorFlow's ops. */
final class OpsPage {
  private static final int WIDTH = 120;

  private OpsPage() {}

  static String markdown() {
    Map<String, OpFacts> ours = OpFacts.all();
    StringBuilder page = new StringBuilder();
    page.append(
        """
        # Ops

        This page is generated: `./millrace ops --markdown > docs/ops.md`. `./millrace ops` prints the same facts, and
        `./millrace ops --missing` the names of TensorFlow's ops that Millrace has not. The types are those of the op's
        signature. A kernel that does not compute on one of them fails with UNIMPLEMENTED and names it.

        """);
    page.append("| TensorFlow | its ops | of these here |\n| --- | --- | --- |\n");
    for (String version : OpList.VERSIONS) {
      Set<String> theirs = OpList.of(version);
      long here = theirs.stream().filter(ours::containsKey).count();
      page.append("| %s | %d | %d |%n".formatted(version, theirs.size(), here));
    }
    page.append(
        """

        TensorFlow's figures include ops for TPUs, GPUs and XLA, quantised kernels and boosted trees.

        ## Ops that are here

        `gradient`: *yes*, *none* (nothing flows through the op), or *undefined* (asking for it is an error).

        | op | types | gradient |
        | --- | --- | --- |
        """);
    ours.values()
        .forEach(
            op ->
                page.append("| %s | %s | %s |%n".formatted(op.name(), op.types(), op.gradient())));
    for (String version : OpList.VERSIONS) {
      Set<String> missing = new TreeSet<>(OpList.of(version));
      missing.removeAll(ours.keySet());
      page.append("%n## Ops of TensorFlow %s that are not here%n%n".formatted(version));
      page.append(wrapped(missing));
    }
    return page.toString();
  }

  /** Names as lines of the width of this page. */
  private static String wrapped(Set<String> names) {
    StringBuilder text = new StringBuilder();
    StringJoiner line = new StringJoiner(" ");
    for (String name : names) {
      if (line.length() + name.length() + 1 > WIDTH) {
        text.append(line).append('\n');
        line = new StringJoiner(" ");
      }
      line.add(name);
    }
    return text.append(line).append('\n').toString();
  }
}
