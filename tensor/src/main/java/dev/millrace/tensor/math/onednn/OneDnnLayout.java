package dev.millrace.tensor.math.onednn;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** How the floats of a tensor lie in memory, in oneDNN's terms. Immutable. */
public final class OneDnnLayout {
  private static final int FLOAT = 3;
  private static final int ANY = 1;

  private final long handle;
  private final long byteSize;

  private OneDnnLayout(long handle) {
    this.handle = OneDnnObject.own(this, "memory_desc", handle);
    this.byteSize =
        (long) OneDnnObject.call("dnnl_memory_desc_get_size", ValueLayout.JAVA_LONG, this.handle);
  }

  /** Element (i, j, ...) lies at i * strides[0] + j * strides[1] + ... */
  public static OneDnnLayout strided(long[] dims, long[] strides) {
    try (Arena arena = Arena.ofConfined()) {
      return new OneDnnLayout(
          OneDnnObject.createWith(
              "dnnl_memory_desc_create_with_strides",
              dims.length,
              pointer(arena, dims),
              FLOAT,
              pointer(arena, strides)));
    }
  }

  /** Whatever a primitive likes best. */
  public static OneDnnLayout any(long[] dims) {
    try (Arena arena = Arena.ofConfined()) {
      return new OneDnnLayout(
          OneDnnObject.createWith(
              "dnnl_memory_desc_create_with_tag", dims.length, pointer(arena, dims), FLOAT, ANY));
    }
  }

  /** A copy of a layout that something else owns. */
  static OneDnnLayout copyOf(long handle) {
    return new OneDnnLayout(OneDnnObject.createWith("dnnl_memory_desc_clone", handle));
  }

  /** The address of these numbers, valid as long as the arena. */
  public static long pointer(Arena arena, long... values) {
    MemorySegment s = arena.allocateFrom(ValueLayout.JAVA_LONG, values);
    return s.address();
  }

  public long handle() {
    return handle;
  }

  public long byteSize() {
    return byteSize;
  }

  /** Whether the same elements lie at the same places. */
  public boolean isSameAs(OneDnnLayout other) {
    return (int)
            OneDnnObject.call("dnnl_memory_desc_equal", ValueLayout.JAVA_INT, handle, other.handle)
        != 0;
  }
}
