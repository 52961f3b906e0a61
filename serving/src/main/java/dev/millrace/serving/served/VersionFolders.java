package dev.millrace.serving.served;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.serving.model.SavedModelFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The versions of a model on disk: folders whose names are numbers, as TensorFlow Serving has. */
final class VersionFolders {
  private VersionFolders() {}

  /** The versions in {@code folder}; a SavedModel itself is version 1 or what its name says. */
  static Map<Long, Path> in(Path folder) {
    Map<Long, Path> versions = new TreeMap<>();
    if (SavedModelFolder.isIn(folder)) {
      long number = number(folder);
      versions.put(number < 0 ? 1 : number, folder);
      return versions;
    }
    try (Stream<Path> children = Files.list(folder)) {
      children.forEach(
          c -> {
            if (number(c) >= 0 && SavedModelFolder.isIn(c)) {
              versions.put(number(c), c);
            }
          });
    } catch (IOException e) {
      throw new MillraceException(
          Code.NOT_FOUND, "The folder " + folder + " of a model cannot be read: " + e, e);
    }
    return versions;
  }

  /** The number that a folder is called; -1 if its name is none. */
  static long number(Path folder) {
    String name = String.valueOf(folder.toAbsolutePath().normalize().getFileName());
    try {
      return name.chars().allMatch(c -> c >= '0' && c <= '9') ? Long.parseLong(name) : -1;
    } catch (NumberFormatException e) {
      return -1;
    }
  }
}
