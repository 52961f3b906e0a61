package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks that the files, types and methods that pages for developers name exist. */
class DocumentedNamesTest {
  /** Code on a page, outside fenced blocks. */
  private static final Pattern CODE = Pattern.compile("`([^`\\n]+)`");

  /** A path from the root of the source tree. */
  private static final Pattern FILE = Pattern.compile("\\.?[\\w-]+(?:/[\\w.-]+)+/?");

  /** {@code Type}, {@code Type.method} or {@code Outer.Inner}. */
  private static final Pattern TYPE = Pattern.compile("([A-Z]\\w*[a-z]\\w*)(?:\\.(\\w+))?[^:]*");

  /** Names of ops, which look like types. */
  private static final Set<String> OPS =
      Set.of("Const", "Identity", "NoOp", "Enter", "Merge", "Switch", "NextIteration");

  private static Map<String, List<Path>> types;

  /** The source files of the tree by the name of their type. */
  private static synchronized Map<String, List<Path>> types() throws IOException {
    if (types == null) {
      types = new HashMap<>();
      try (Stream<Path> all = Files.walk(DocumentedSamplesTest.root())) {
        all.filter(f -> f.toString().endsWith(".java") && !f.toString().contains("/target/"))
            .forEach(
                f ->
                    types
                        .computeIfAbsent(
                            f.getFileName().toString().replace(".java", ""), k -> new ArrayList<>())
                        .add(f));
      }
    }
    return types;
  }

  private static List<String> code(String page) throws IOException {
    String text = Files.readString(DocumentedSamplesTest.root().resolve(page));
    return CODE.matcher(text.replaceAll("(?s)```.*?```", ""))
        .results()
        .map(m -> m.group(1))
        .toList();
  }

  @ParameterizedTest
  @ValueSource(strings = {"ARCHITECTURE.md", "CONTRIBUTING.md", "docs/ring-design.md"})
  void typesAndTheirMembersExist(String page) throws IOException {
    List<String> unknown = new ArrayList<>();
    int seen = 0;
    for (String code : code(page)) {
      Matcher m = TYPE.matcher(code);
      if (!m.matches() || OPS.contains(code) || code.startsWith("MillraceReduceInSequence")) {
        continue;
      }
      seen++;
      List<Path> files = types().get(m.group(1));
      if (files == null || m.group(2) != null && !anyContains(files, m.group(2))) {
        unknown.add(code);
      }
    }
    assertEquals(List.of(), unknown, page);
    assertTrue(seen > 3, page + " names only " + seen + " types");
  }

  private static boolean anyContains(List<Path> files, String member) throws IOException {
    Pattern word = Pattern.compile("\\b" + member + "\\b");
    for (Path file : files) {
      if (word.matcher(Files.readString(file)).find()) {
        return true;
      }
    }
    return false;
  }

  @Test
  void filesExist() throws IOException {
    List<String> absent = new ArrayList<>();
    int seen = 0;
    for (String page : List.of("ARCHITECTURE.md", "CONTRIBUTING.md")) {
      for (String code : code(page)) {
        if (FILE.matcher(code).matches()) {
          seen++;
          if (!Files.exists(DocumentedSamplesTest.root().resolve(code))) {
            absent.add(page + ": " + code);
          }
        }
      }
    }
    assertEquals(List.of(), absent);
    assertTrue(seen > 5, "only " + seen + " files are named");
  }
}
