package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** Compares the modules drawn and listed in ARCHITECTURE.md with the poms. */
class ModulePictureTest {
  private static final Pattern ARROW = Pattern.compile("(?m)^ *(\\w+) --> (\\w+)$");
  private static final Pattern MODULE = Pattern.compile("<module>([\\w-]+)</module>");
  private static final String PREFIX = "millrace-";

  private static Path root() {
    return DocumentedSamplesTest.root();
  }

  private static String architecture() throws IOException {
    return Files.readString(root().resolve("ARCHITECTURE.md"));
  }

  /** Every module, those of profiles included. */
  private static Set<String> modules() throws IOException {
    return MODULE
        .matcher(Files.readString(root().resolve("pom.xml")))
        .results()
        .map(m -> m.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The modules that {@code module} declares for its main code. */
  private static Set<String> dependencies(String module) throws Exception {
    Set<String> found = new TreeSet<>();
    Element project =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(root().resolve(module).resolve("pom.xml").toFile())
            .getDocumentElement();
    NodeList all = project.getElementsByTagName("dependency");
    for (int i = 0; i < all.getLength(); i++) {
      Element dependency = (Element) all.item(i);
      String artifact = text(dependency, "artifactId");
      if (artifact.startsWith(PREFIX)
          && !text(dependency, "scope").equals("test")
          && !isManaged(dependency)) {
        found.add(artifact.substring(PREFIX.length()));
      }
    }
    return found;
  }

  /** Whether this is the version of a dependency rather than a dependency. */
  private static boolean isManaged(Element dependency) {
    return dependency.getParentNode().getParentNode().getNodeName().equals("dependencyManagement");
  }

  private static String text(Element parent, String child) {
    NodeList found = parent.getElementsByTagName(child);
    return found.getLength() == 0 ? "" : found.item(0).getTextContent().strip();
  }

  @Test
  void thePictureShowsTheDependenciesOfThePoms() throws Exception {
    Set<String> declared = new TreeSet<>();
    for (String module : modules()) {
      // The tests against TensorFlow use nearly everything and would hide the rest.
      if (!module.equals("interop")) {
        for (String dependency : dependencies(module)) {
          declared.add(module + " --> " + dependency);
        }
      }
    }
    Set<String> drawn = new TreeSet<>();
    for (Matcher m = ARROW.matcher(architecture()); m.find(); ) {
      drawn.add(m.group(1) + " --> " + m.group(2));
    }
    assertEquals(String.join("\n", declared), String.join("\n", drawn));
  }

  @Test
  void theTableListsEveryModule() throws IOException {
    String text = architecture();
    String table = text.substring(text.indexOf("| module |"), text.indexOf("Restrictions:"));
    Set<String> listed = new TreeSet<>();
    for (Matcher m = Pattern.compile("(?m)^\\| (\\w+) \\|").matcher(table); m.find(); ) {
      listed.add(m.group(1));
    }
    listed.remove("module");
    assertEquals(modules(), listed);
  }
}
