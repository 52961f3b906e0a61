package dev.millrace.interop;

import java.nio.file.Path;

/** Where things too large to make anew for every build are kept, outside the source tree. */
final class Caches {
  private Caches() {}

  /** The cache folder of the user: {@code millrace.cache} if set, else the platform's custom. */
  static Path folder() {
    String set = System.getProperty("millrace.cache");
    if (set != null) {
      return Path.of(set);
    }
    String xdg = System.getenv("XDG_CACHE_HOME");
    Path base =
        xdg == null || xdg.isBlank()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(xdg);
    return base.resolve("millrace");
  }
}
