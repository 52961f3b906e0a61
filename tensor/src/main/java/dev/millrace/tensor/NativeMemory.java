package dev.millrace.tensor;

import dev.millrace.base.ProcessEnvironment;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * The C library's allocator. Segments made here have the global scope: no liveness check on access,
 * no handshake on free, and all of one class, so the loops over them stay monomorphic. In exchange
 * {@link #free} really frees: only {@link BufferPool}, which counts references, may call it.
 */
final class NativeMemory {
  static final long ALIGNMENT = 64;

  /** A page of memory that the processor finds with one look where 512 small ones need as many. */
  private static final long HUGE_PAGE = 2 << 20;

  /** Linux's advice that memory be given in huge pages. */
  private static final int MADV_HUGEPAGE = 14;

  private static final MethodHandle ALIGNED_ALLOC;
  private static final MethodHandle FREE;

  /** Linux's madvise; null elsewhere. */
  private static final MethodHandle ADVISE;

  static {
    Linker linker = Linker.nativeLinker();
    SymbolLookup lookup = linker.defaultLookup();
    ALIGNED_ALLOC =
        lookup
            .find("aligned_alloc")
            .map(
                s ->
                    linker.downcallHandle(
                        s,
                        FunctionDescriptor.of(
                            ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG)))
            .orElse(null);
    FREE =
        lookup
            .find("free")
            .map(s -> linker.downcallHandle(s, FunctionDescriptor.ofVoid(ValueLayout.ADDRESS)))
            .orElse(null);
    ADVISE =
        lookup
            .find("madvise")
            .filter(_ -> ProcessEnvironment.isLinux())
            .map(
                s ->
                    linker.downcallHandle(
                        s,
                        FunctionDescriptor.of(
                            ValueLayout.JAVA_INT,
                            ValueLayout.ADDRESS,
                            ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_INT)))
            .orElse(null);
  }

  private NativeMemory() {}

  /** Uninitialised memory of at least {@code bytes}, which must be a multiple of the alignment. */
  static MemorySegment allocate(long bytes) {
    if (ALIGNED_ALLOC == null || FREE == null) {
      return Arena.global().allocate(bytes, ALIGNMENT);
    }
    boolean huge = bytes >= HUGE_PAGE && ADVISE != null;
    MemorySegment p;
    try {
      p = (MemorySegment) ALIGNED_ALLOC.invokeExact(huge ? HUGE_PAGE : ALIGNMENT, bytes);
      if (huge && p.address() != 0) {
        // Most systems give huge pages to those who ask only. It is advice: a refusal costs speed.
        int _ = (int) ADVISE.invokeExact(p, bytes, MADV_HUGEPAGE);
      }
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    }
    if (p.address() == 0) {
      throw new OutOfMemoryError("no " + bytes + " bytes of native memory for a tensor");
    }
    return p.reinterpret(bytes);
  }

  /** Gives memory back. Where there is no C allocator it is kept: the pool then never shrinks. */
  static void free(MemorySegment segment) {
    if (ALIGNED_ALLOC == null || FREE == null) {
      return;
    }
    try {
      FREE.invokeExact(segment);
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    }
  }
}
