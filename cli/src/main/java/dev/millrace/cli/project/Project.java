package dev.millrace.cli.project;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The files of a new project: those of the template, data, and the jars it is built with. */
final class Project {
  /** Where the files of the template go, by their names here. */
  private static final Map<String, String> FILES =
      Map.of(
          "pom.xml", "pom.xml",
          "README.md", "README.md",
          "Containerfile", "Containerfile",
          "gitignore", ".gitignore",
          "maven.config", ".mvn/maven.config",
          "simplelogger.properties", "src/main/resources/simplelogger.properties",
          "Ctr.java", "src/main/java/com/example/Ctr.java",
          "CtrTest.java", "src/test/java/com/example/CtrTest.java",
          "EmbeddingTest.java", "src/test/java/com/example/EmbeddingTest.java");

  private final String name;
  private final MillraceJars jars;

  Project(String name, MillraceJars jars) {
    this.name = name;
    this.jars = jars;
  }

  /** Writes all of it, or nothing: it is written beside {@code target} and then renamed. */
  void write(Path target) {
    Path beside = target.resolveSibling("." + name + ".unfinished");
    try {
      checkEmpty(target);
      Files.createDirectories(target.getParent());
      Files.createDirectory(beside);
    } catch (FileAlreadyExistsException e) {
      throw new MillraceException(
          Code.ALREADY_EXISTS,
          "There is a file or folder " + e.getFile() + " already; remove it first.",
          e);
    } catch (IOException e) {
      throw failed(target, e);
    }
    try {
      fill(beside);
      Files.deleteIfExists(target);
      Files.move(beside, target);
    } catch (IOException e) {
      remove(beside);
      throw failed(target, e);
    }
  }

  private static void checkEmpty(Path target) throws IOException {
    if (!Files.isDirectory(target)) {
      if (Files.exists(target)) {
        throw new MillraceException(Code.ALREADY_EXISTS, target + " exists and is no folder.");
      }
      return;
    }
    try (Stream<Path> entries = Files.list(target)) {
      if (entries.findAny().isPresent()) {
        throw new MillraceException(
            Code.ALREADY_EXISTS, "The folder " + target + " is not empty; name another.");
      }
    }
  }

  private void fill(Path folder) throws IOException {
    for (Map.Entry<String, String> e : FILES.entrySet()) {
      Path file = folder.resolve(e.getValue());
      Files.createDirectories(file.getParent());
      Files.writeString(file, template(e.getKey()));
    }
    Path data = Files.createDirectory(folder.resolve("data"));
    Clicks.write(data.resolve("train.csv"), 20_000, 1);
    Clicks.write(data.resolve("test.csv"), 4_000, 2);
    jars.writeRepository(folder.resolve("repository"));
  }

  private String template(String resource) throws IOException {
    try (InputStream in = Project.class.getResourceAsStream(resource)) {
      String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return text.replace("@name@", name).replace("@millrace@", jars.version());
    }
  }

  private static MillraceException failed(Path target, IOException e) {
    return new MillraceException(Code.UNAVAILABLE, "Cannot write " + target + ": " + e, e);
  }

  private static void remove(Path folder) {
    try (Stream<Path> all = Files.walk(folder)) {
      List<Path> deepestFirst = all.sorted(Comparator.reverseOrder()).toList();
      for (Path file : deepestFirst) {
        Files.delete(file);
      }
    } catch (IOException e) {
      // What made the writing fail is told; the rest of the folder is named as unfinished.
    }
  }
}
