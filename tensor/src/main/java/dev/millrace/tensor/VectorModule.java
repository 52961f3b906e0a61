package dev.millrace.tensor;

/** The JDK's Vector API, an incubator module that a JVM must be started with. */
public final class VectorModule {
  /** The JVM options for Millrace: the first is required, the others avoid warnings. */
  public static final String JVM_OPTIONS =
      "--add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED"
          + " --sun-misc-unsafe-memory-access=allow";

  private VectorModule() {}

  /**
   * Fails if the JVM was started without the module. Throws an error, not an exception: from a
   * static initialiser an error reaches the program unchanged.
   */
  public static void require() {
    if (ModuleLayer.boot().findModule("jdk.incubator.vector").isEmpty()) {
      throw new LinkageError(
          "Millrace needs the JDK's Vector API, which this JVM was started without: start it with"
              + " the options "
              + JVM_OPTIONS
              + ".");
    }
  }
}
