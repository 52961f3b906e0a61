package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Compares docs/claims.md with the README that it quotes and with the tests that it names. */
class ReadmeClaimsTest {
  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| ([a-z]+-[a-z]+) \\| (.+) \\| ([^|]+) \\|$");
  private static final Pattern TEST = Pattern.compile("`(\\w+)\\.(\\w+)`");
  private static final Pattern MARK = Pattern.compile("// README claim: ([a-z]+-[a-z]+)");

  /** A mark and the method that follows it, with nothing but annotations between them. */
  private static final Pattern MARKED_METHOD =
      Pattern.compile(
          "// README claim: ([a-z]+-[a-z]+)\\n(?:\\s*(?:@|//|\"|\\)).*\\n)*\\s*"
              + "(?:private |public )?(?:static )?void (\\w+)\\(");

  private record Claim(String id, String quote, List<String> tests) {}

  private static List<Claim> claims() throws IOException {
    String page = Files.readString(DocumentedSamplesTest.root().resolve("docs/claims.md"));
    List<Claim> claims = new ArrayList<>();
    for (Matcher row = ROW.matcher(page); row.find(); ) {
      List<String> tests = new ArrayList<>();
      for (Matcher t = TEST.matcher(row.group(3)); t.find(); ) {
        tests.add(t.group(1) + "." + t.group(2));
      }
      claims.add(new Claim(row.group(1), row.group(2), tests));
    }
    return claims;
  }

  private static String readme() throws IOException {
    return Files.readString(DocumentedSamplesTest.root().resolve("README.md"))
        .replaceAll("\\s+", " ");
  }

  /** For every claim the tests that carry its mark, as {@code Class.method}. */
  private static Map<String, Set<String>> marks() throws IOException {
    Map<String, Set<String>> marks = new TreeMap<>();
    for (Path file : testSources()) {
      String source = Files.readString(file);
      String type = file.getFileName().toString().replace(".java", "");
      int methods = 0;
      for (Matcher m = MARKED_METHOD.matcher(source); m.find(); methods++) {
        marks.computeIfAbsent(m.group(1), k -> new HashSet<>()).add(type + "." + m.group(2));
      }
      assertEquals(MARK.matcher(source).results().count(), methods, file + ": a mark has no test");
    }
    return marks;
  }

  private static List<Path> testSources() throws IOException {
    List<Path> all = new ArrayList<>();
    try (Stream<Path> modules = Files.list(DocumentedSamplesTest.root())) {
      for (Path module : modules.toList()) {
        Path java = module.resolve("src/test/java");
        if (Files.isDirectory(java)) {
          try (Stream<Path> files = Files.walk(java)) {
            files
                .filter(f -> f.toString().endsWith("Test.java"))
                .filter(f -> !f.endsWith("ReadmeClaimsTest.java"))
                .forEach(all::add);
          }
        }
      }
    }
    return all;
  }

  @Test
  void everyQuoteIsInTheReadme() throws IOException {
    String readme = readme();
    List<String> absent =
        claims().stream().map(Claim::quote).filter(q -> !readme.contains(q)).toList();
    assertEquals(List.of(), absent);
  }

  @Test
  void everyClaimHasTestsThatNameIt() throws IOException {
    Map<String, Set<String>> listed = new TreeMap<>();
    for (Claim c : claims()) {
      assertTrue(!c.tests.isEmpty(), c.id + " names no test");
      assertEquals(null, listed.put(c.id, new HashSet<>(c.tests)), c.id + " has two rows");
    }
    assertEquals(listed, marks(), "tests listed in docs/claims.md, and tests that carry the mark");
  }

  @Test
  void everySentenceOfThePromisesIsAClaim() throws IOException {
    Matcher promise =
        Pattern.compile("\\d\\. \\*\\*It [^*]+\\*\\* (.*?) Not covered:").matcher(readme());
    int promises = 0;
    for (; promise.find(); promises++) {
      String rest = promise.group(1);
      for (Claim c : claims()) {
        rest = rest.replace(c.quote, "");
      }
      assertEquals("", rest.strip(), "a promise without a row in docs/claims.md");
    }
    assertEquals(3, promises);
  }
}
