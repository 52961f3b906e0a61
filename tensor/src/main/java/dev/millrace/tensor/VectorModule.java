package dev.millrace.tensor;

import dev.millrace.base.config.ComputeSettings;
import dev.millrace.base.config.Config;
import org.slf4j.LoggerFactory;

/**
 * Whether loops may use the JDK's Vector API. It is an incubator module: a JVM has it if it was
 * started with {@link #JVM_OPTION}, if a module of the program requires it, or if the manifest of
 * the program lets {@link VectorLoading} bring it. Without it plain loops do the same, which the
 * JVM's compiler turns into vector instructions where it can.
 *
 * <p>A JVM that resolves an incubator module at its start cannot use classes that were loaded and
 * linked ahead of time (an AOT cache), and starts more slowly for it. So the command line gives
 * {@link #LATE_OPTION} instead, and the module is loaded when the first loop asks.
 *
 * <p>A class whose code names a vector cannot even be linked without the module. So such code
 * stands in classes of its own, and who calls them asks {@link #isPresent} first; for the compiler
 * that is a constant.
 */
public final class VectorModule {
  /** The JVM option that brings the module. */
  public static final String JVM_OPTION = "--add-modules jdk.incubator.vector";

  /** The JVM options for Millrace at full speed and without warnings of the JDK. */
  public static final String JVM_OPTIONS =
      JVM_OPTION + " --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow";

  /** The JVM option that lets {@link VectorLoading} bring the module. Only for the class path. */
  public static final String LATE_OPTION =
      "--add-exports java.base/jdk.internal.module=ALL-UNNAMED";

  private static final String NAME = "jdk.incubator.vector";
  private static final boolean IN_JVM =
      ModuleLayer.boot().findModule(NAME).isPresent() || VectorLoading.load(NAME);
  private static final boolean PRESENT = IN_JVM && Config.ofProcess().get(ComputeSettings.VECTOR);

  static {
    if (!IN_JVM) {
      LoggerFactory.getLogger(VectorModule.class)
          .info("Loops run without the Vector API; faster with the JVM option {}.", JVM_OPTION);
    }
  }

  private VectorModule() {}

  /** Whether loops may use the Vector API. */
  public static boolean isPresent() {
    return PRESENT;
  }

  /** Which loops are in use, and why. */
  public static String describe() {
    if (PRESENT) {
      return "Vector API";
    }
    return IN_JVM
        ? "plain Java: the Vector API is turned off by -Dmillrace.vector=false"
        : "plain Java: this JVM was started without " + JVM_OPTION;
  }
}
