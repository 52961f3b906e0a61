package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
 * Checks that every public type and every method that adds nodes to a graph has Javadoc, and that
 * no Javadoc is too short to say anything.
 */
class DocumentedApiTest {
  /** The end of a Javadoc comment, and the annotations that may follow it, with their reasons. */
  private static final String BEFORE =
      "(\\*/\\s+)?(?:@\\w+(?:\\((?:[^()]++|\\([^()]*+\\))*+\\))?(?: //.*)?\\s+)*";

  private static final Pattern TYPE =
      Pattern.compile(
          BEFORE
              + "public (?:(?:static|final|abstract|sealed|non-sealed) )*"
              + "(?:class|interface|record|enum|@interface) (\\w+)");

  private static final Pattern BUILDER =
      Pattern.compile(BEFORE + "public static (?:Output|Node|List<Output>) (\\w+)\\(\\s*Scope");

  private static final Pattern JAVADOC = Pattern.compile("(?s)/\\*\\*(.*?)\\*/");

  /** The first sentence of a comment, without its tags. */
  private static final Pattern SENTENCE = Pattern.compile("(?s)(?!@)(.+?)(?:[.](?=\\s|$)|$)");

  /** A word, or code, which may be a formula and then says enough. */
  private static final Pattern WORD = Pattern.compile("\\{@code [^}]+\\}|[\\w'-]+");

  @Test
  void noJavadocIsASingleWord() throws IOException {
    List<String> empty = new ArrayList<>();
    int seen = 0;
    for (Path file : sources()) {
      Matcher comment = JAVADOC.matcher(Files.readString(file));
      for (; comment.find(); seen++) {
        String text = comment.group(1).replaceAll("(?m)^\\s*\\*", " ").strip();
        if (saysNothing(text)) {
          empty.add(file.getFileName() + ": " + text);
        }
      }
    }
    assertEquals(List.of(), empty);
    assertTrue(seen > 4000, "only " + seen + " comments were seen");
  }

  private static boolean saysNothing(String text) {
    Matcher sentence = SENTENCE.matcher(text);
    if (!sentence.lookingAt() || text.startsWith("Likewise")) {
      return true;
    }
    String first = text.contains(". ") ? sentence.group(1) : text;
    boolean code = first.contains("{@code ");
    return !code && WORD.matcher(first).results().count() < 2;
  }

  @Test
  void emptyPhrasesAreRecognized() {
    assertTrue(saysNothing("Likewise, with options."));
    assertTrue(saysNothing("Nothing."));
    assertTrue(saysNothing("Gradients. More follows here."));
    assertTrue(saysNothing("@param x the value"));
    assertFalse(saysNothing("{@code max(x, 0)}."));
    assertFalse(saysNothing("Returns the value."));
    assertFalse(saysNothing("Strings: cut, joined and compared."));
  }

  @Test
  void publicTypesAreDocumented() throws IOException {
    undocumented(TYPE, 500);
  }

  @Test
  void methodsThatBuildGraphsAreDocumented() throws IOException {
    undocumented(BUILDER, 150);
  }

  /**
   * Fails with all matches that have no comment, or if there are fewer than {@code some} matches.
   */
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
