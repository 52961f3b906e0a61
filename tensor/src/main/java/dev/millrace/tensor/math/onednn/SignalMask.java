package dev.millrace.tensor.math.onednn;

import dev.millrace.base.ProcessEnvironment;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Keeps signals away from the calling thread while it is in native code that does not survive them.
 * oneDNN's general matrix product keeps data below the stack pointer, where the kernel puts the
 * frame of a signal handler: a sample of a profiler or a SIGTERM that arrives then destroys results
 * and memory. Signals held off are delivered after {@link #restore}.
 *
 * <p>Threading: a mask is that of the calling thread.
 */
final class SignalMask {
  /** Large enough for any C library's set of signals. */
  private static final long SET_BYTES = 128;

  private static final int SET_MASK = 2;

  /** SIGILL, SIGTRAP, SIGBUS, SIGFPE and SIGSEGV: what the thread's own instructions raise. */
  private static final int[] OWN = {4, 5, 7, 8, 11};

  private static final MethodHandle PTHREAD_SIGMASK = find();
  private static final MemorySegment ALL = all();

  /** Where each thread keeps what it had before. */
  private static final ThreadLocal<MemorySegment> BEFORE =
      ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(SET_BYTES, 8));

  private SignalMask() {}

  /** Whether signals can be held off here: on Linux. */
  static boolean isAvailable() {
    return PTHREAD_SIGMASK != null;
  }

  /** Holds off all signals from outside; returns what to give to {@link #restore}. */
  static MemorySegment block() {
    MemorySegment before = BEFORE.get();
    set(ALL, before.address());
    return before;
  }

  static void restore(MemorySegment before) {
    set(before, 0);
  }

  private static void set(MemorySegment mask, long before) {
    int status;
    try {
      status = (int) PTHREAD_SIGMASK.invokeExact(SET_MASK, mask.address(), before);
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    }
    if (status != 0) {
      throw new IllegalStateException("pthread_sigmask failed with " + status);
    }
  }

  private static MethodHandle find() {
    if (!ProcessEnvironment.isLinux()) {
      return null;
    }
    SymbolLookup system = Linker.nativeLinker().defaultLookup();
    return system
        .find("pthread_sigmask")
        .map(
            symbol ->
                Linker.nativeLinker()
                    .downcallHandle(
                        symbol,
                        FunctionDescriptor.of(
                            ValueLayout.JAVA_INT,
                            ValueLayout.JAVA_INT,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_LONG),
                        Linker.Option.critical(false)))
        .orElse(null);
  }

  private static MemorySegment all() {
    MemorySegment set = Arena.global().allocate(SET_BYTES, 8);
    set.fill((byte) -1);
    for (int signal : OWN) {
      int bit = signal - 1;
      byte b = set.get(ValueLayout.JAVA_BYTE, bit / 8);
      set.set(ValueLayout.JAVA_BYTE, bit / 8, (byte) (b & ~(1 << bit % 8)));
    }
    return set;
  }
}
