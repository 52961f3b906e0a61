package dev.millrace.architecture;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * The structure of the project, checked on its class files. Prints the number of findings of every
 * rule in one line; a finding fails the build unless {@code exceptions.txt} names it.
 */
class ArchitectureTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .withImportOption(location -> !location.contains("dev/millrace/proto/"))
          .withImportOption(location -> !location.contains("package-info"))
          .importPackages("dev.millrace");

  private static List<Rule> rules() throws IOException {
    Layers layers = Layers.of(lines("layers.txt"));
    return List.of(
        new Rule("layer", "uses against the layers", c -> Packages.of(c).forbiddenUses(layers)),
        new Rule("cycle", "cycles", c -> Packages.of(c).cycles()),
        new Rule("size", "packages over the limit", Sizes::largePackages),
        new Rule("name", "duplicate class names", Sizes::duplicateNames),
        new Rule("clock", "wall-clock calls outside base", Calls::wallClock),
        new Rule("static", "classes with state of the process", StaticState::find),
        new Rule("settings", "classes that read the environment", Calls::settings),
        new Rule("output", "libraries that print or log otherwise than by SLF4J", Calls::output));
  }

  @Test
  void everyModuleIsChecked() {
    Set<String> modules = new HashSet<>();
    for (JavaClass c : CLASSES) {
      modules.add(Packages.module(Packages.name(c)));
    }
    assertTrue(
        modules.containsAll(
            Set.of(
                "base",
                "simulation",
                "tensor",
                "net",
                "collective",
                "storage",
                "graph",
                "ops",
                "runtime",
                "wire",
                "train",
                "parquet",
                "ring",
                "cluster",
                "junit",
                "job",
                "examples",
                "cli")),
        modules::toString);
  }

  /** Prints the counts of all rules in one line, then fails if one is not 0. */
  @Test
  void theRulesHold() throws IOException {
    List<String> counts = new ArrayList<>();
    List<String> broken = new ArrayList<>();
    for (Rule rule : rules()) {
      Set<String> excepted = exceptions(rule);
      int exceptions = excepted.size();
      List<String> findings = new ArrayList<>();
      for (String finding : rule.findings(CLASSES)) {
        if (!excepted.remove(finding.split("\\s", 2)[0])) {
          findings.add(finding);
        }
      }
      counts.add(rule.counted() + " " + findings.size());
      if (exceptions > 0) {
        counts.add(counts.removeLast() + " (" + exceptions + " excepted)");
      }
      if (!findings.isEmpty()) {
        broken.add(rule.counted() + ":\n  " + String.join("\n  ", findings));
      }
      excepted.forEach(
          e -> broken.add("exceptions.txt: no finding '%s %s'".formatted(rule.id(), e)));
    }
    System.out.println("Architecture: " + String.join(", ", counts));
    assertTrue(broken.isEmpty(), () -> "\n" + String.join("\n", broken) + "\n");
  }

  private static Set<String> exceptions(Rule rule) throws IOException {
    Set<String> named = new HashSet<>();
    for (String line : lines("exceptions.txt")) {
      String[] words = line.split("\\s+");
      if (words[0].equals(rule.id())) {
        named.add(words[1]);
      }
    }
    return named;
  }

  /** The lines of a resource without comments. */
  private static List<String> lines(String resource) throws IOException {
    try (InputStream in = ArchitectureTest.class.getResourceAsStream(resource)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .map(line -> line.replaceFirst("#.*", "").strip())
          .filter(line -> !line.isEmpty())
          .toList();
    }
  }
}
