package dev.millrace.base;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The user this process runs as. */
public final class ThisUser {
  private static final Path SELF = Path.of("/proc/self");

  private ThisUser() {}

  /**
   * The name that files of this process have as their owner's. Users without an entry in the
   * system's list, as in most containers, have their number there, and none in {@code user.name}.
   */
  public static String name() {
    try {
      if (Files.exists(SELF)) {
        return Files.getOwner(SELF).getName();
      }
    } catch (IOException | UnsupportedOperationException e) {
      // Hidden from us: the list then.
    }
    return ProcessEnvironment.userName();
  }
}
