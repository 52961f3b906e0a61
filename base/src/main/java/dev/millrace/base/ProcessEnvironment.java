package dev.millrace.base;

import java.io.File;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The machine, the user and the JVM of this process. This is the only class of the project that
 * reads system properties and environment variables; settings are read through {@code
 * dev.millrace.base.config.Config}, which stands on it.
 *
 * <p>Threading: any thread.
 */
public final class ProcessEnvironment {
  private ProcessEnvironment() {}

  /** All environment variables of this process. */
  public static Map<String, String> variables() {
    return System.getenv();
  }

  /** The system properties whose names begin with {@code prefix}, as they are now. */
  public static Map<String, String> properties(String prefix) {
    Map<String, String> found = new HashMap<>();
    for (String name : System.getProperties().stringPropertyNames()) {
      if (name.startsWith(prefix)) {
        String value = System.getProperty(name);
        if (value != null) {
          found.put(name, value);
        }
      }
    }
    return found;
  }

  /** Whether the operating system is Linux. */
  public static boolean isLinux() {
    return System.getProperty("os.name").equals("Linux");
  }

  /** Whether the processor is an x86 with 64 bits. */
  public static boolean isX64() {
    return System.getProperty("os.arch").equals("amd64");
  }

  /** The folder for temporary files, which other users may share. */
  public static Path temporaryFolder() {
    return Path.of(System.getProperty("java.io.tmpdir"));
  }

  /** The user's folder for caches: {@code XDG_CACHE_HOME}, or {@code .cache} in the home folder. */
  public static Path cacheFolder() {
    String xdg = System.getenv("XDG_CACHE_HOME");
    return xdg != null && xdg.startsWith("/")
        ? Path.of(xdg)
        : Path.of(System.getProperty("user.home"), ".cache");
  }

  /** The user's folder for sockets and the like, {@code XDG_RUNTIME_DIR}; null if there is none. */
  public static @Nullable Path runtimeFolder() {
    String xdg = System.getenv("XDG_RUNTIME_DIR");
    return xdg == null || xdg.isBlank() ? null : Path.of(xdg);
  }

  /** The folder this process was started in. */
  public static Path workingFolder() {
    return Path.of(System.getProperty("user.dir"));
  }

  /** The user's name in the system's list of users; {@link ThisUser#name} is the safer question. */
  static String userName() {
    return System.getProperty("user.name");
  }

  /** The {@code java} program that runs this process. */
  public static Path java() {
    return Path.of(System.getProperty("java.home"), "bin", "java");
  }

  /** Who made this JVM; null if it does not say. */
  public static String javaVendor() {
    return System.getProperty("java.vendor");
  }

  /** The class path of this process, entries separated by {@link File#pathSeparator}. */
  public static String classPath() {
    return System.getProperty("java.class.path");
  }

  /** The module path of this process, entries separated by {@link File#pathSeparator}, or null. */
  public static String modulePath() {
    return System.getProperty("jdk.module.path");
  }
}
