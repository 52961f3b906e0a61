package dev.millrace.tensor;

/** The JDK's Vector API, an incubator module that a JVM has only if it was asked for. */
public final class VectorModule {
  /** The options a JVM needs for Millrace: the first must be there, without the others it warns. */
  public static final String JVM_OPTIONS =
      "--add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED"
          + " --sun-misc-unsafe-memory-access=allow";

  private VectorModule() {}

  /**
   * Fails if the JVM was started without the module. With an error rather than an exception: called
   * by a static initialiser, it reaches the program as it is, instead of a NoClassDefFoundError.
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
