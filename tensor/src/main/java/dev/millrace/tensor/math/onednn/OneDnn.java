package dev.millrace.tensor.math.onednn;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.ComputeSettings;
import dev.millrace.base.config.Config;
import dev.millrace.tensor.math.Parallel;
import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.slf4j.LoggerFactory;

/**
 * The native library oneDNN, called through the foreign function interface. It is loaded at the
 * first use of this class if its artifact for this platform is on the class path or the module
 * path; {@code -Dmillrace.native=false} keeps it out. Where it is not available everything it does
 * is done in Java.
 *
 * <p>oneDNN brings OpenMP for its threads. It is held to one: a team of its own for every thread
 * that calls, all spinning, stops the whole machine as soon as two processes share it. Loops are
 * split over {@link Parallel} before they get here.
 *
 * <p>Threading: all methods may be called from any thread.
 */
public final class OneDnn {
  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT;
  private static final ValueLayout.OfByte CHAR = ValueLayout.JAVA_BYTE;

  /** oneDNN's functions; null where it is not available. */
  private static final SymbolLookup LIBRARY;

  /** Why there is no library, or null. */
  private static final String REASON;

  private static final MethodHandle SET_THREADS;
  private static final MethodHandle SGEMM;

  static {
    SymbolLookup library = null;
    String reason = null;
    if (!Config.ofProcess().get(ComputeSettings.NATIVE)) {
      reason = "turned off by -Dmillrace.native=false";
    } else if (!SignalMask.isAvailable()) {
      reason = "not used on this system, where signals cannot be held off";
    } else {
      try {
        library = OneDnnLibrary.load();
      } catch (IOException | RuntimeException | LinkageError e) {
        reason = e.getMessage();
        LoggerFactory.getLogger(OneDnn.class)
            .warn(
                "oneDNN cannot be loaded, matrix products and convolutions run in Java: {}",
                reason);
      }
      if (library == null && reason == null) {
        reason = "neither class path nor module path has it for this platform";
      }
    }
    LIBRARY = library;
    REASON = reason;
    SET_THREADS =
        library == null
            ? null
            : Linker.nativeLinker()
                .downcallHandle(
                    symbol("omp_set_num_threads"),
                    FunctionDescriptor.ofVoid(INT),
                    Linker.Option.critical(false));
    SGEMM =
        library == null
            ? null
            : function(
                "dnnl_sgemm",
                INT,
                CHAR,
                CHAR,
                LONG,
                LONG,
                LONG,
                FLOAT,
                LONG,
                LONG,
                LONG,
                LONG,
                FLOAT,
                LONG,
                LONG);
  }

  private OneDnn() {}

  /** Whether oneDNN is loaded. */
  public static boolean isAvailable() {
    return LIBRARY != null;
  }

  /** Name and version of the library, or why it is not used; for a person to read. */
  public static String describe() {
    if (LIBRARY == null) {
      return "no oneDNN: " + REASON;
    }
    try {
      MemorySegment version =
          (MemorySegment) function("dnnl_version", ValueLayout.ADDRESS).invoke();
      version = version.reinterpret(12);
      return "oneDNN %d.%d.%d"
          .formatted(
              version.getAtIndex(INT, 0), version.getAtIndex(INT, 1), version.getAtIndex(INT, 2));
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    }
  }

  /** C = op(A) op(B) + beta C over row-major floats at these addresses, on the calling thread. */
  public static void sgemm(
      boolean transA,
      boolean transB,
      long m,
      long n,
      long k,
      long a,
      long lda,
      long b,
      long ldb,
      float beta,
      long c,
      long ldc) {
    int status;
    useOneThread();
    MemorySegment mask = SignalMask.block();
    try {
      status =
          (int)
              SGEMM.invokeExact(
                  (byte) (transA ? 'T' : 'N'),
                  (byte) (transB ? 'T' : 'N'),
                  m,
                  n,
                  k,
                  1f,
                  a,
                  lda,
                  b,
                  ldb,
                  beta,
                  c,
                  ldc);
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    } finally {
      SignalMask.restore(mask);
    }
    check(status, "sgemm");
  }

  /** Holds what oneDNN does next on this thread to this thread. */
  static void useOneThread() {
    try {
      SET_THREADS.invokeExact(1);
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    }
  }

  static void check(int status, String call) {
    if (status == 1) {
      throw new MillraceException(
          Code.RESOURCE_EXHAUSTED,
          "oneDNN found no memory for " + call + ". Use a smaller batch or a larger machine.");
    } else if (status != 0) {
      throw new MillraceException(Code.INTERNAL, "oneDNN refused " + call + ": status " + status);
    }
  }

  /** A function of the library; pointers are passed as longs. */
  static MethodHandle function(String name, MemoryLayout result, MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(symbol(name), FunctionDescriptor.of(result, arguments));
  }

  /** The same for one that returns at once; the call costs less but holds up the collector. */
  static MethodHandle shortFunction(String name, MemoryLayout result, MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(
            symbol(name), FunctionDescriptor.of(result, arguments), Linker.Option.critical(false));
  }

  private static MemorySegment symbol(String name) {
    return LIBRARY
        .find(name)
        .orElseThrow(() -> new IllegalStateException("oneDNN has no function " + name));
  }
}
