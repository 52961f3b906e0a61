package dev.millrace.tensor.math.onednn;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Reference;
import java.util.ArrayDeque;

/**
 * A computation that oneDNN has compiled for certain layouts, ready to be run on any memory that
 * has them.
 *
 * <p>Threading: may be run by several threads at once; each run borrows a set of arguments of its
 * own and uses the calling thread alone.
 */
public final class OneDnnPrimitive {
  /** What an argument is to a primitive, in oneDNN's numbers. */
  public static final int SOURCE = 1;

  public static final int TARGET = 17;
  public static final int WEIGHTS = 33;
  public static final int SOURCE_GRADIENT = 129;
  public static final int TARGET_GRADIENT = 145;
  public static final int WEIGHTS_GRADIENT = 161;
  private static final int SCRATCHPAD = 80;

  /** Layouts a description can be asked for. */
  private static final int OF_ARGUMENT = 255;

  /** What else it can be asked for: the name of its code. */
  private static final int IMPLEMENTATION = 8;

  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  private static final MethodHandle EXECUTE =
      OneDnn.function("dnnl_primitive_execute", INT, LONG, LONG, INT, LONG);
  private static final MethodHandle SET_DATA =
      OneDnn.shortFunction("dnnl_memory_set_data_handle", INT, LONG, LONG);

  private final long handle;
  private final int[] kinds;
  private final OneDnnLayout[] layouts;
  private final OneDnnLayout scratchpad;

  /** Whether its code is the general matrix product, which no signal may interrupt. */
  private final boolean fragile;

  /** Sets of arguments that no run is using. Guarded by itself. */
  private final ArrayDeque<Arguments> idle = new ArrayDeque<>();

  /**
   * The primitive of a description, which it takes over, with arguments of these kinds. The
   * description must leave the scratchpad to the user.
   */
  public OneDnnPrimitive(long description, int... kinds) {
    this.kinds = kinds;
    this.layouts = new OneDnnLayout[kinds.length];
    for (int i = 0; i < kinds.length; i++) {
      layouts[i] = layout(description, kinds[i]);
    }
    this.scratchpad = layout(description, SCRATCHPAD);
    String code = implementation(description);
    this.fragile = code.contains("gemm") && !code.contains("brgemm");
    this.handle = OneDnnObject.owned(this, "primitive", description);
    OneDnnObject.destroy("primitive_desc", description);
  }

  /** The primitive that copies from one layout to another. */
  public static OneDnnPrimitive reorder(OneDnnLayout from, OneDnnLayout to) {
    long engine = OneDnnObject.ENGINE;
    return new OneDnnPrimitive(
        OneDnnObject.createWith(
            "dnnl_reorder_primitive_desc_create",
            from.handle(),
            engine,
            to.handle(),
            engine,
            ATTRIBUTES),
        SOURCE,
        TARGET);
  }

  /** What descriptions are to be made with: the scratchpad is ours. */
  public static final long ATTRIBUTES = OneDnnObject.create("primitive_attr");

  static {
    OneDnnObject.run("dnnl_primitive_attr_set_scratchpad_mode", ATTRIBUTES, 1);
  }

  /** The name of the code that oneDNN has chosen, such as {@code brg_matmul:avx512_core}. */
  private static String implementation(long description) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocate(LONG);
      OneDnnObject.run("dnnl_primitive_desc_query", description, IMPLEMENTATION, 0, name.address());
      return MemorySegment.ofAddress(name.get(LONG, 0)).reinterpret(256).getString(0);
    }
  }

  private static OneDnnLayout layout(long description, int kind) {
    return OneDnnLayout.copyOf(
        (long)
            OneDnnObject.call(
                "dnnl_primitive_desc_query_md", LONG, description, OF_ARGUMENT, kind));
  }

  /** The layout that the argument with this index must have. */
  public OneDnnLayout layout(int argument) {
    return layouts[argument];
  }

  /** Runs on arguments at these addresses, in the order of the kinds; the third may be unused. */
  public void run(long first, long second, long third) {
    Arguments arguments = borrow();
    Buffer scratch =
        scratchpad.byteSize() == 0 ? null : BufferPool.current().allocate(scratchpad.byteSize());
    try {
      arguments.set(0, first);
      arguments.set(1, second);
      if (kinds.length > 2) {
        arguments.set(2, third);
      }
      if (scratch != null) {
        arguments.set(kinds.length, scratch.memory().address());
      }
      OneDnn.useOneThread();
      int count = kinds.length + (scratch == null ? 0 : 1);
      int status;
      MemorySegment mask = fragile ? SignalMask.block() : null;
      try {
        status =
            (int) EXECUTE.invokeExact(handle, arguments.stream, count, arguments.array.address());
      } finally {
        if (mask != null) {
          SignalMask.restore(mask);
        }
      }
      OneDnn.check(status, "running a primitive");
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    } finally {
      if (scratch != null) {
        scratch.release();
      }
      synchronized (idle) {
        idle.push(arguments);
      }
      Reference.reachabilityFence(this);
    }
  }

  private Arguments borrow() {
    synchronized (idle) {
      Arguments a = idle.poll();
      if (a != null) {
        return a;
      }
    }
    return new Arguments();
  }

  /** oneDNN's form of arguments: an array of (kind, memory object) pairs. */
  private final class Arguments {
    private final long stream = OneDnnObject.owned(this, "stream", OneDnnObject.ENGINE, 1);
    private final long[] memories = new long[kinds.length + 1];
    private final MemorySegment array = Arena.ofAuto().allocate(16L * memories.length, 8);

    Arguments() {
      for (int i = 0; i < memories.length; i++) {
        boolean last = i == kinds.length;
        OneDnnLayout layout = last ? scratchpad : layouts[i];
        memories[i] = OneDnnObject.owned(this, "memory", layout.handle(), OneDnnObject.ENGINE, 0L);
        array.set(INT, 16L * i, last ? SCRATCHPAD : kinds[i]);
        array.set(LONG, 16L * i + 8, memories[i]);
      }
    }

    void set(int argument, long address) throws Throwable {
      int status = (int) SET_DATA.invokeExact(memories[argument], address);
      OneDnn.check(status, "setting an argument");
    }
  }
}
