package dev.millrace.interop;

import static dev.millrace.interop.TensorFlowLibrary.LONG;
import static dev.millrace.interop.TensorFlowLibrary.POINTER;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Bytes in a {@code TF_Buffer}, the way messages are handed to and fro. */
final class NativeBytes implements AutoCloseable {
  private static final MethodHandle NEW = TensorFlowLibrary.function("TF_NewBuffer", POINTER);
  private static final MethodHandle NEW_FROM =
      TensorFlowLibrary.function("TF_NewBufferFromString", POINTER, POINTER, LONG);
  private static final MethodHandle DELETE =
      TensorFlowLibrary.procedure("TF_DeleteBuffer", POINTER);

  private final MemorySegment handle;

  private NativeBytes(MemorySegment handle) {
    this.handle = handle;
  }

  /** For C to fill. */
  static NativeBytes empty() {
    return new NativeBytes(TensorFlowLibrary.get(() -> (MemorySegment) NEW.invokeExact()));
  }

  /** A copy of these bytes. */
  static NativeBytes of(byte[] bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment copy = copy(bytes, arena);
      return new NativeBytes(
          TensorFlowLibrary.get(
              () -> (MemorySegment) NEW_FROM.invokeExact(copy, (long) bytes.length)));
    }
  }

  /** Takes over a buffer C made. */
  static NativeBytes ofHandle(MemorySegment handle) {
    return new NativeBytes(handle);
  }

  /** These bytes in native memory, at least one long. */
  static MemorySegment copy(byte[] bytes, Arena arena) {
    MemorySegment memory = arena.allocate(Math.max(1, bytes.length));
    MemorySegment.copy(bytes, 0, memory, ValueLayout.JAVA_BYTE, 0, bytes.length);
    return memory;
  }

  MemorySegment handle() {
    return handle;
  }

  byte[] toArray() {
    MemorySegment struct = handle.reinterpret(16);
    return struct
        .get(ValueLayout.ADDRESS, 0)
        .reinterpret(struct.get(LONG, 8))
        .toArray(ValueLayout.JAVA_BYTE);
  }

  @Override
  public void close() {
    TensorFlowLibrary.run(
        () -> {
          DELETE.invokeExact(handle);
        });
  }
}
