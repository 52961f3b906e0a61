package dev.millrace.interop;

import static dev.millrace.interop.TensorFlowLibrary.INT;
import static dev.millrace.interop.TensorFlowLibrary.POINTER;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The outcome of a C call, as {@code TF_Status}. Use it again and again, from one thread. */
final class Status implements AutoCloseable {
  private static final MethodHandle NEW = TensorFlowLibrary.function("TF_NewStatus", POINTER);
  private static final MethodHandle DELETE =
      TensorFlowLibrary.procedure("TF_DeleteStatus", POINTER);
  private static final MethodHandle CODE = TensorFlowLibrary.function("TF_GetCode", INT, POINTER);
  private static final MethodHandle MESSAGE =
      TensorFlowLibrary.function("TF_Message", POINTER, POINTER);

  private final MemorySegment handle =
      TensorFlowLibrary.get(() -> (MemorySegment) NEW.invokeExact());

  /** What to pass to C. */
  MemorySegment handle() {
    return handle;
  }

  /** Throws TensorFlow's own error, code and message, if the last call failed. */
  void check() {
    int code = TensorFlowLibrary.get(() -> (int) CODE.invokeExact(handle));
    if (code != 0) {
      throw new MillraceException(
          Code.of(code),
          TensorFlowLibrary.string(
              TensorFlowLibrary.get(() -> (MemorySegment) MESSAGE.invokeExact(handle))));
    }
  }

  @Override
  public void close() {
    TensorFlowLibrary.run(
        () -> {
          DELETE.invokeExact(handle);
        });
  }
}
