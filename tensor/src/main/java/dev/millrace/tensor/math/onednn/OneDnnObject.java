package dev.millrace.tensor.math.onednn;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Cleaner;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Makes oneDNN's native objects and frees them when the garbage collector finds their Java owner
 * unused. For making things once, not for running them: functions are found by name and called with
 * whatever arguments are given, ints and longs (pointers among them).
 */
public final class OneDnnObject {
  private static final int INVALID = 2;
  private static final int UNIMPLEMENTED = 3;
  private static final Cleaner CLEANER = Cleaner.create();
  private static final Map<String, MethodHandle> FUNCTIONS = new ConcurrentHashMap<>();

  /** oneDNN's name for the processor. */
  public static final long ENGINE = create("engine", 1, 0L);

  /** Whether oneDNN uses vectors of 512 bits, which changes what is fastest. */
  public static final boolean AVX512 =
      ((int) call("dnnl_get_effective_cpu_isa", ValueLayout.JAVA_INT) & 0x20) != 0;

  private OneDnnObject() {}

  /** A new object of the kind {@code what} that lives as long as its owner. */
  static long owned(Object owner, String what, Object... arguments) {
    return own(owner, what, create(what, arguments));
  }

  /** Frees an object of the kind {@code what} when {@code owner} is unused. */
  static long own(Object owner, String what, long handle) {
    CLEANER.register(owner, () -> destroy(what, handle));
    return handle;
  }

  /** A new object of the kind {@code what} that is never freed, or not by this class. */
  static long create(String what, Object... arguments) {
    return createWith("dnnl_" + what + "_create", arguments);
  }

  /** What the function stores through its first argument. */
  static long createWith(String function, Object... arguments) {
    long handle = tryCreateWith(function, arguments);
    if (handle == 0) {
      OneDnn.check(UNIMPLEMENTED, function);
    }
    return handle;
  }

  /** The same, or 0 if oneDNN cannot do that. */
  public static long tryCreateWith(String function, Object... arguments) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment result = arena.allocate(ValueLayout.JAVA_LONG);
      Object[] all = new Object[arguments.length + 1];
      all[0] = result.address();
      System.arraycopy(arguments, 0, all, 1, arguments.length);
      int status = (int) call(function, ValueLayout.JAVA_INT, all);
      if (status == INVALID || status == UNIMPLEMENTED) {
        return 0;
      }
      OneDnn.check(status, function);
      return result.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  public static void destroy(String what, long handle) {
    run("dnnl_" + what + "_destroy", handle);
  }

  /** Calls any function; on the calling thread alone, as all of them. */
  static Object call(String function, MemoryLayout result, Object... arguments) {
    MethodHandle handle =
        FUNCTIONS.computeIfAbsent(
            function,
            name -> {
              MemoryLayout[] types = new MemoryLayout[arguments.length];
              for (int i = 0; i < types.length; i++) {
                types[i] =
                    arguments[i] instanceof Integer ? ValueLayout.JAVA_INT : ValueLayout.JAVA_LONG;
              }
              return OneDnn.function(name, result, types);
            });
    try {
      OneDnn.useOneThread();
      return handle.invokeWithArguments(arguments);
    } catch (Throwable t) {
      throw new IllegalStateException(function, t);
    }
  }

  /** Calls a function that makes nothing. */
  static void run(String function, Object... arguments) {
    OneDnn.check((int) call(function, ValueLayout.JAVA_INT, arguments), function);
  }
}
