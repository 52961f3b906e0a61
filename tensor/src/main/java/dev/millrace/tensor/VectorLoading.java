package dev.millrace.tensor;

import java.lang.reflect.InvocationTargetException;
import org.slf4j.LoggerFactory;

/**
 * Brings the Vector API into a JVM that was started without it. The JDK loads its own modules late
 * where an agent needs them; the method that does it is internal. A program opens it to the class
 * path by a line in the manifest of the jar that {@code java -jar} runs:
 *
 * <pre>Add-Exports: java.base/jdk.internal.module</pre>
 *
 * Where the line or the method is missing, nothing happens and loops stay plain.
 */
final class VectorLoading {
  private static final String INTERNAL = "jdk.internal.module";

  private VectorLoading() {}

  /** Whether the module {@code name} of the JDK is loaded now. */
  static boolean load(String name) {
    // A module of its own would have to read the Vector API; the manifest serves the class path.
    Module self = VectorLoading.class.getModule();
    if (self.isNamed() || !Object.class.getModule().isExported(INTERNAL, self)) {
      return false;
    }
    try {
      Class.forName(INTERNAL + ".Modules").getMethod("loadModule", String.class).invoke(null, name);
      return true;
    } catch (InvocationTargetException e) {
      return failed(e.getCause());
    } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
      return failed(e);
    }
  }

  private static boolean failed(Throwable cause) {
    LoggerFactory.getLogger(VectorLoading.class).debug("The Vector API cannot be loaded.", cause);
    return false;
  }
}
