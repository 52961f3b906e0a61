package dev.millrace.storage;

import java.net.URISyntaxException;
import java.nio.file.Path;

/** Files written by TensorFlow 2.21. */
public final class Golden {
  private Golden() {}

  public static Path path(String name) {
    try {
      return Path.of(Golden.class.getResource("golden/kinds.index").toURI()).resolveSibling(name);
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }
}
