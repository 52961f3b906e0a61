package dev.millrace.cli;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
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

/** Parses every millrace command in the documentation and in the help texts. */
class DocumentedCommandsTest {
  /**
   * A fenced block. Matches blocks of every language, so that the end of one is not taken for the
   * start of the next; only blocks without a language contain commands.
   */
  private static final Pattern BLOCK =
      Pattern.compile("^```(\\w*)\\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE);

  private static final Pattern COMMAND =
      Pattern.compile("^ *(?:source <[(])?(?:\\./)?millrace (.*)$");

  @Test
  void commandsInTheDocumentationAreUnderstood() throws IOException {
    int seen = 0;
    for (Path page : pages()) {
      Matcher block = BLOCK.matcher(Files.readString(page));
      while (block.find()) {
        if (block.group(1).isEmpty()) {
          seen += understood(page.getFileName().toString(), block.group(2));
        }
      }
    }
    assertTrue(seen > 20, seen + " commands");
  }

  @Test
  void commandsInTheHelpAreUnderstood() {
    MillraceTest.commands()
        .forEach(
            words -> {
              List<String> args = new ArrayList<>(words);
              args.add("--help");
              String help = Ran.millrace(args).succeeded();
              String examples = help.substring(help.indexOf("Exit codes:"));
              assertTrue(understood(words.toString(), examples) > 0, help);
            });
  }

  private static List<Path> pages() throws IOException {
    Path root = RunningMillrace.sourceTree();
    try (Stream<Path> docs = Files.walk(root.resolve("docs"))) {
      return Stream.concat(Stream.of(root.resolve("README.md")), docs)
          .filter(p -> p.toString().endsWith(".md"))
          .toList();
    }
  }

  /** The number of commands in {@code text}. Fails if the command line refuses one of them. */
  private static int understood(String where, String text) {
    List<String> commands =
        text.replace("\\\n", " ")
            .lines()
            .map(COMMAND::matcher)
            .filter(Matcher::matches)
            .map(m -> m.group(1).replaceAll("[>|&)].*", "").strip())
            .toList();
    for (String command : commands) {
      assertDoesNotThrow(
          () -> Millrace.commandLine(new Millrace()).parseArgs(command.split(" +")),
          where + ": millrace " + command);
    }
    return commands.size();
  }
}
