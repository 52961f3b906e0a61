package dev.millrace.tensor;

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

  private static final MethodHandle ALIGNED_ALLOC;
  private static final MethodHandle FREE;

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
  }

  private NativeMemory() {}

  /** Uninitialised memory of at least {@code bytes}, which must be a multiple of the alignment. */
  static MemorySegment allocate(long bytes) {
    if (ALIGNED_ALLOC == null || FREE == null) {
      return Arena.global().allocate(bytes, ALIGNMENT);
    }
    MemorySegment p;
    try {
      p = (MemorySegment) ALIGNED_ALLOC.invokeExact(ALIGNMENT, bytes);
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
