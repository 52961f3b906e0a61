package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares the Java code in the documentation with its source: a sample of a test in this package,
 * or a file that the build compiles. Also checks links.
 */
class DocumentedSamplesTest {
  private static final Pattern BLOCK =
      Pattern.compile(
          "(?:<!-- sample (\\w+) (\\w+) -->\\n\\n?|<!-- file (\\S+) -->\\n\\n?)?"
              + "```java\\n(.*?)```",
          Pattern.DOTALL);
  private static final Pattern SAMPLE =
      Pattern.compile(
          "^ *// sample (\\w+)\\n(.*?)^ *// end\\n", Pattern.DOTALL | Pattern.MULTILINE);
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)#\\s]*)(#[^)\\s]+)?\\)");

  /** The folder of the whole source tree. */
  static Path root() {
    Path dir = Path.of("").toAbsolutePath();
    while (!Files.exists(dir.resolve("ARCHITECTURE.md"))) {
      dir = dir.getParent();
    }
    return dir;
  }

  static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>();
    try (Stream<Path> top = Files.list(root());
        Stream<Path> docs = Files.walk(root().resolve("docs"))) {
      Stream.concat(top, docs)
          .filter(p -> p.toString().endsWith(".md"))
          .sorted()
          .forEach(pages::add);
    }
    return pages;
  }

  private static String source(String name) throws IOException {
    return Files.readString(
        root()
            .resolve("examples/src/test/java/dev/millrace/examples/docs")
            .resolve(name + ".java"));
  }

  private static String sample(String file, String name) throws IOException {
    Matcher m = SAMPLE.matcher(source(file));
    while (m.find()) {
      if (m.group(1).equals(name)) {
        return m.group(2).stripTrailing().stripIndent().strip();
      }
    }
    throw new AssertionError("no sample " + name + " in " + file);
  }

  @ParameterizedTest
  @MethodSource("pages")
  void javaOnAPageIsATestedSample(Path page) throws IOException {
    Matcher m = BLOCK.matcher(Files.readString(page));
    while (m.find()) {
      String code = m.group(4).strip();
      String where = root().relativize(page) + ": " + code.lines().findFirst().orElse("");
      if (m.group(3) != null) {
        String file = Files.readString(root().resolve(m.group(3)));
        assertTrue(
            withoutIndent(file).contains(withoutIndent(code)), where + " is not in the file");
      } else {
        assertFalse(m.group(1) == null, where + " has no <!-- sample File name -->");
        assertEquals(sample(m.group(1), m.group(2)), code, where);
      }
    }
  }

  private static String withoutIndent(String code) {
    return code.replaceAll("(?m)^[ \\t]+", "");
  }

  @ParameterizedTest
  @MethodSource("pages")
  void linksOnAPageLeadSomewhere(Path page) throws IOException {
    Matcher m = LINK.matcher(Files.readString(page).replaceAll("(?s)```.*?```", ""));
    List<String> broken = new ArrayList<>();
    while (m.find()) {
      if (m.group(1).startsWith("http")) {
        continue;
      }
      Path target = m.group(1).isEmpty() ? page : page.resolveSibling(m.group(1));
      if (!Files.exists(target)
          || m.group(2) != null && !anchors(target).contains(m.group(2).substring(1))) {
        broken.add(m.group());
      }
    }
    assertEquals(List.of(), broken, root().relativize(page).toString());
  }

  /** The anchors that GitHub makes of a page's headings. */
  private static Set<String> anchors(Path page) throws IOException {
    return Files.readAllLines(page).stream()
        .filter(line -> line.matches("#+ .*"))
        .map(line -> line.replaceFirst("#+ ", "").toLowerCase(Locale.ROOT))
        .map(title -> title.replaceAll("[^a-z0-9 _-]", "").replace(' ', '-'))
        .collect(Collectors.toSet());
  }

  @Test
  void everySampleStandsOnAPage() throws IOException {
    Set<String> shown = new HashSet<>();
    for (Path page : pages()) {
      Matcher m = BLOCK.matcher(Files.readString(page));
      while (m.find()) {
        shown.add(m.group(1) + " " + m.group(2));
      }
    }
    for (String file :
        List.of(
            "ReadmeTest",
            "GettingStartedTest",
            "ComingFromTfTrainTest",
            "ComingFromHorovodTest",
            "FileFormatsTest",
            "ExtendingTest",
            "ServingPageTest")) {
      Matcher m = SAMPLE.matcher(source(file));
      while (m.find()) {
        assertEquals(true, shown.contains(file + " " + m.group(1)), file + " " + m.group(1));
      }
    }
  }

  @Test
  void everyPublicTypeIsDescribed() throws IOException {
    Pattern type =
        Pattern.compile("(?m)^public (?:[a-z-]+ )*(?:class|record|enum|interface|@interface) \\w+");
    List<Path> bare = new ArrayList<>();
    try (Stream<Path> all = Files.walk(root())) {
      for (Path file : all.filter(DocumentedSamplesTest::isOfTheProduct).toList()) {
        String text = Files.readString(file);
        Matcher m = type.matcher(text);
        if (m.find()) {
          // Comments of the class come after the imports, so those above do not count.
          String before = text.substring(text.lastIndexOf("\nimport ", m.start()) + 1, m.start());
          if (!before.contains("*/")) {
            bare.add(root().relativize(file));
          }
        }
      }
    }
    assertEquals(List.of(), bare);
  }

  private static boolean isOfTheProduct(Path file) {
    String path = file.toString();
    return path.endsWith(".java")
        && path.contains("/src/main/java/")
        && !path.contains("/target/")
        && !path.contains("/interop/");
  }
}
