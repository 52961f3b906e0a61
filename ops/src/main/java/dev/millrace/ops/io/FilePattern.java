package dev.millrace.ops.io;

import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Paths that match a pattern with the wildcards {@code *}, {@code ?} and {@code [...]}, none of
 * which matches a separator.
 */
final class FilePattern {
  /** All paths that match one of the patterns, in order of their names. */
  static final Op MATCHING_FILES =
      Op.define("MatchingFiles")
          .input("pattern: string")
          .output("filenames: string")
          .shape(Shapes.of(Shape.of(Shape.UNKNOWN)))
          .asyncKernel(node -> Background.of(FilePattern::matchingFiles))
          .noGradient("names of files do not depend on numbers")
          .build();

  private FilePattern() {}

  private static void matchingFiles(KernelContext c) {
    List<String> names = new ArrayList<>();
    for (String pattern : c.input(0).toStrings()) {
      matches(FileNames.path(pattern)).forEach(path -> names.add(path.toString()));
    }
    names.sort(null);
    c.output(0, Tensor.vector(names.toArray(String[]::new)));
  }

  /** The existing paths that {@code pattern} matches, in order. */
  static List<Path> matches(Path pattern) {
    List<Path> found = new ArrayList<>();
    found.add(pattern.isAbsolute() ? pattern.getRoot() : Path.of(""));
    for (Path part : pattern) {
      List<Path> next = new ArrayList<>();
      for (Path folder : found) {
        addMatches(folder, part.toString(), next);
      }
      found = next;
    }
    found.removeIf(Files::notExists);
    found.sort(null);
    return found;
  }

  private static void addMatches(Path folder, String part, List<Path> matches) {
    if (!part.matches(".*[*?\\[].*")) {
      matches.add(folder.resolve(part));
      return;
    }
    // Java's own patterns also know alternatives in braces and '**', which TensorFlow's do not.
    String glob = part.replace("{", "\\{").replace("}", "\\}").replaceAll("\\*+", "*");
    try (DirectoryStream<Path> names = Files.newDirectoryStream(folder, glob)) {
      names.forEach(path -> matches.add(folder.resolve(path.getFileName())));
    } catch (NoSuchFileException | NotDirectoryException e) {
      // A folder that does not exist has no matches.
    } catch (IOException e) {
      throw WholeFiles.failure("list", folder, e);
    }
  }
}
