package dev.millrace.cli.ops;

import dev.millrace.base.MillraceException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** The names of the ops that a version of TensorFlow has, from a resource of this package. */
final class OpList {
  static final List<String> VERSIONS = List.of("1.15", "2.21");

  private OpList() {}

  /** The ops of a version, sorted. */
  static Set<String> of(String version) {
    if (!VERSIONS.contains(version)) {
      throw MillraceException.invalid(
          "There is no list of the ops of TensorFlow '%s'; there are lists of %s.",
          version, String.join(" and ", VERSIONS));
    }
    try (InputStream in = OpList.class.getResourceAsStream("tensorflow-" + version + ".txt")) {
      Set<String> names = new TreeSet<>();
      new String(in.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .filter(line -> !line.startsWith("#"))
          .forEach(line -> names.addAll(Arrays.asList(line.strip().split(" "))));
      return names;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
