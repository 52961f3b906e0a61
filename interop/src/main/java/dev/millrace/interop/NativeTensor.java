package dev.millrace.interop;

import static dev.millrace.interop.TensorFlowLibrary.INT;
import static dev.millrace.interop.TensorFlowLibrary.LONG;
import static dev.millrace.interop.TensorFlowLibrary.POINTER;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A {@code TF_Tensor}: TensorFlow's side of one of our tensors. Numbers are shared, not copied, on
 * the way in, and copied on the way out, because what TensorFlow hands out may be the memory of a
 * variable that the next step changes.
 *
 * <p>TensorFlow may hold on to what it was given for longer than a step, for example as the value
 * of a resource variable, and says by a callback when it has let go. Until then {@link #LENT} keeps
 * the memory alive.
 *
 * <p>Threading: one thread per instance; the callback may come on any thread.
 */
final class NativeTensor implements AutoCloseable {
  private static final MethodHandle NEW =
      TensorFlowLibrary.function(
          "TF_NewTensor", POINTER, INT, POINTER, INT, POINTER, LONG, POINTER, LONG);
  private static final MethodHandle DELETE =
      TensorFlowLibrary.procedure("TF_DeleteTensor", POINTER);
  private static final MethodHandle TYPE =
      TensorFlowLibrary.function("TF_TensorType", INT, POINTER);
  private static final MethodHandle NUM_DIMS =
      TensorFlowLibrary.function("TF_NumDims", INT, POINTER);
  private static final MethodHandle DIM = TensorFlowLibrary.function("TF_Dim", LONG, POINTER, INT);
  private static final MethodHandle DATA =
      TensorFlowLibrary.function("TF_TensorData", POINTER, POINTER);
  private static final MethodHandle BYTES =
      TensorFlowLibrary.function("TF_TensorByteSize", LONG, POINTER);
  private static final MethodHandle STRING_INIT =
      TensorFlowLibrary.procedure("TF_StringInit", POINTER);
  private static final MethodHandle STRING_COPY =
      TensorFlowLibrary.procedure("TF_StringCopy", POINTER, POINTER, LONG);
  private static final MethodHandle STRING_FREE =
      TensorFlowLibrary.procedure("TF_StringDealloc", POINTER);
  private static final MethodHandle STRING_SIZE =
      TensorFlowLibrary.function("TF_StringGetSize", LONG, POINTER);
  private static final MethodHandle STRING_DATA =
      TensorFlowLibrary.function("TF_StringGetDataPointer", POINTER, POINTER);

  /** The size of a {@code TF_TString}. */
  private static final long STRING_BYTES = 24;

  /** What TensorFlow has been lent, by number: the action that takes it back. */
  private static final ConcurrentHashMap<Long, Runnable> LENT = new ConcurrentHashMap<>();

  private static final AtomicLong LENT_COUNT = new AtomicLong();
  private static final MemorySegment GIVE_BACK = giveBackCallback();

  private final MemorySegment handle;

  private NativeTensor(MemorySegment handle) {
    this.handle = handle;
  }

  /** Our tensor as one of TensorFlow's. Its contents must not change while TensorFlow has it. */
  static NativeTensor of(Tensor tensor) {
    return tensor.dtype() == DType.STRING ? ofStrings(tensor) : ofPlain(tensor);
  }

  /** Takes over a tensor TensorFlow made. */
  static NativeTensor ofHandle(MemorySegment handle) {
    return new NativeTensor(handle);
  }

  MemorySegment handle() {
    return handle;
  }

  /** A copy as a tensor of ours, which the caller owns. */
  Tensor toTensor() {
    DType dtype = DType.of(TensorFlowLibrary.get(() -> (int) TYPE.invokeExact(handle)));
    Shape shape = shape();
    MemorySegment address = TensorFlowLibrary.get(() -> (MemorySegment) DATA.invokeExact(handle));
    long bytes = TensorFlowLibrary.get(() -> (long) BYTES.invokeExact(handle));
    if (dtype == DType.STRING) {
      return strings(shape, address);
    }
    Tensor tensor = Tensor.allocate(dtype, shape);
    if (bytes != tensor.byteSize()) {
      throw new IllegalStateException(
          dtype + shape.toString() + " from TensorFlow has " + bytes + " bytes");
    }
    MemorySegment.copy(address.reinterpret(bytes), 0, tensor.data(), 0, bytes);
    return tensor;
  }

  @Override
  public void close() {
    TensorFlowLibrary.run(
        () -> {
          DELETE.invokeExact(handle);
        });
  }

  /** How many tensors TensorFlow still holds. */
  static int lent() {
    return LENT.size();
  }

  private Shape shape() {
    long[] dims = new long[TensorFlowLibrary.get(() -> (int) NUM_DIMS.invokeExact(handle))];
    for (int i = 0; i < dims.length; i++) {
      int axis = i;
      dims[i] = TensorFlowLibrary.get(() -> (long) DIM.invokeExact(handle, axis));
    }
    return Shape.of(dims);
  }

  private static NativeTensor ofPlain(Tensor tensor) {
    Tensor held = Refs.retain(tensor);
    return make(held.dtype(), held.shape(), held.data(), () -> Refs.release(held));
  }

  private static NativeTensor ofStrings(Tensor tensor) {
    int n = Math.toIntExact(tensor.elements());
    Arena arena = Arena.ofShared();
    MemorySegment memory = arena.allocate(Math.max(1, n * STRING_BYTES), 64);
    for (int i = 0; i < n; i++) {
      MemorySegment string = memory.asSlice(i * STRING_BYTES, STRING_BYTES);
      byte[] value = tensor.bytesAt(i);
      try (Arena copy = Arena.ofConfined()) {
        MemorySegment bytes = copy.allocate(Math.max(1, value.length));
        MemorySegment.copy(value, 0, bytes, ValueLayout.JAVA_BYTE, 0, value.length);
        TensorFlowLibrary.run(
            () -> {
              STRING_INIT.invokeExact(string);
            });
        TensorFlowLibrary.run(
            () -> {
              STRING_COPY.invokeExact(string, bytes, (long) value.length);
            });
      }
    }
    MemorySegment used = memory.asSlice(0, n * STRING_BYTES);
    return make(
        DType.STRING,
        tensor.shape(),
        used,
        () -> {
          for (int i = 0; i < n; i++) {
            MemorySegment string = used.asSlice(i * STRING_BYTES, STRING_BYTES);
            TensorFlowLibrary.run(
                () -> {
                  STRING_FREE.invokeExact(string);
                });
          }
          arena.close();
        });
  }

  private static NativeTensor make(
      DType dtype, Shape shape, MemorySegment memory, Runnable giveBack) {
    long key = LENT_COUNT.incrementAndGet();
    LENT.put(key, giveBack);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment dims = arena.allocateFrom(LONG, shape.dims());
      MemorySegment handle =
          TensorFlowLibrary.get(
              () ->
                  (MemorySegment)
                      NEW.invokeExact(
                          dtype.number(),
                          dims,
                          shape.rank(),
                          memory,
                          memory.byteSize(),
                          GIVE_BACK,
                          key));
      if (handle.address() == 0) {
        throw new IllegalStateException("TensorFlow takes no " + dtype + shape + " tensor");
      }
      return new NativeTensor(handle);
    }
  }

  private static Tensor strings(Shape shape, MemorySegment address) {
    Object[] values = new Object[Math.toIntExact(shape.elements())];
    MemorySegment all = address.reinterpret(values.length * STRING_BYTES);
    for (int i = 0; i < values.length; i++) {
      MemorySegment string = all.asSlice(i * STRING_BYTES, STRING_BYTES);
      long size = TensorFlowLibrary.get(() -> (long) STRING_SIZE.invokeExact(string));
      values[i] =
          TensorFlowLibrary.get(() -> (MemorySegment) STRING_DATA.invokeExact(string))
              .reinterpret(size)
              .toArray(ValueLayout.JAVA_BYTE);
    }
    return Tensor.ofObjects(DType.STRING, shape, values);
  }

  private static MemorySegment giveBackCallback() {
    try {
      MethodHandle target =
          MethodHandles.lookup()
              .findStatic(
                  NativeTensor.class,
                  "giveBack",
                  MethodType.methodType(void.class, MemorySegment.class, long.class, long.class));
      return TensorFlowLibrary.callback(target, POINTER, LONG, LONG);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Called by TensorFlow when it has no more use for memory it was lent. */
  @SuppressWarnings("unused") // by the callback above
  private static void giveBack(MemorySegment data, long bytes, long key) {
    Runnable action = LENT.remove(key);
    if (action != null) {
      action.run();
    }
  }
}
