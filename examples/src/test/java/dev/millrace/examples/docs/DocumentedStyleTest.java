package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Checks the layout of the documentation: lines wrap at 120 characters. */
class DocumentedStyleTest {
  private static final int LONGEST = 120;

  static List<Path> pages() throws IOException {
    return DocumentedSamplesTest.pages();
  }

  /** Rows of tables and lines without a space to break at may be longer. */
  @ParameterizedTest
  @MethodSource("pages")
  void linesWrap(Path page) throws IOException {
    List<String> tooLong = new ArrayList<>();
    boolean code = false;
    for (String line : Files.readAllLines(page)) {
      code ^= line.startsWith("```");
      if (line.length() > LONGEST
          && !code
          && !line.startsWith("|")
          && line.strip().indexOf(' ') >= 0) {
        tooLong.add(line);
      }
    }
    assertEquals(List.of(), tooLong, DocumentedSamplesTest.root().relativize(page).toString());
  }
}
