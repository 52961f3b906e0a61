package dev.millrace.interop;

import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.TestSettings;
import java.nio.file.Path;

/** Where things too large to make anew for every build are kept, outside the source tree. */
final class Caches {
  private Caches() {}

  /** The cache folder of the user: {@code millrace.cache} if set, else the platform's custom. */
  static Path folder() {
    return Config.ofProcess()
        .find(TestSettings.CACHE)
        .orElseGet(() -> ProcessEnvironment.cacheFolder().resolve("millrace"));
  }
}
