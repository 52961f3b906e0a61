package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Every public type says what it is, and every method that builds a part of a graph what it adds.
 */
class DocumentedApiTest {
  /** The end of a comment, and what may stand between it and what it is about. */
  private static final String BEFORE =
      "(\\*/\\s+)?(?:@\\w+(?:\\((?:[^()]++|\\([^()]*+\\))*+\\))?\\s+)*";

  private static final Pattern TYPE =
      Pattern.compile(
          BEFORE
              + "public (?:(?:static|final|abstract|sealed|non-sealed) )*"
              + "(?:class|interface|record|enum|@interface) (\\w+)");

  private static final Pattern BUILDER =
      Pattern.compile(BEFORE + "public static (?:Output|Node|List<Output>) (\\w+)\\(\\s*Scope");

  @Test
  void publicTypesAreDocumented() throws IOException {
    undocumented(TYPE, 500);
  }

  @Test
  void methodsThatBuildGraphsAreDocumented() throws IOException {
    undocumented(BUILDER, 150);
  }

  /** Fails with all that match without a comment before them, or if fewer than {@code some} do. */
  private static void undocumented(Pattern what, int some) throws IOException {
    List<String> bare = new ArrayList<>();
    int seen = 0;
    for (Path file : sources()) {
      Matcher m = what.matcher(Files.readString(file));
      for (; m.find(); seen++) {
        if (m.group(1) == null) {
          bare.add(file.getFileName() + ": " + m.group(2));
        }
      }
    }
    assertEquals(List.of(), bare);
    assertTrue(seen >= some, "only " + seen + " were seen");
  }

  private static List<Path> sources() throws IOException {
    List<Path> all = new ArrayList<>();
    try (Stream<Path> modules = Files.list(DocumentedSamplesTest.root())) {
      for (Path module : modules.toList()) {
        Path java = module.resolve("src/main/java");
        if (Files.isDirectory(java)) {
          try (Stream<Path> files = Files.walk(java)) {
            files.filter(f -> f.toString().endsWith(".java")).forEach(all::add);
          }
        }
      }
    }
    return all;
  }
}
