package dev.millrace.interop;

import static dev.millrace.interop.TensorFlowLibrary.LONG;
import static dev.millrace.interop.TensorFlowLibrary.POINTER;

import dev.millrace.proto.ServerDef;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * A {@code TF_Server} in this process. TensorFlow has no clean way to end one: it ends with the
 * process.
 */
final class NativeServer {
  private static final MethodHandle NEW =
      TensorFlowLibrary.function("TF_NewServer", POINTER, POINTER, LONG, POINTER);
  private static final MethodHandle START =
      TensorFlowLibrary.procedure("TF_ServerStart", POINTER, POINTER);
  private static final MethodHandle TARGET =
      TensorFlowLibrary.function("TF_ServerTarget", POINTER, POINTER);

  private final MemorySegment handle;

  private NativeServer(MemorySegment handle) {
    this.handle = handle;
  }

  /** A server that listens when this returns. */
  static NativeServer start(ServerDef definition) {
    byte[] bytes = definition.toByteArray();
    try (Arena arena = Arena.ofConfined();
        Status status = new Status()) {
      MemorySegment memory = NativeBytes.copy(bytes, arena);
      MemorySegment server =
          TensorFlowLibrary.get(
              () -> (MemorySegment) NEW.invokeExact(memory, (long) bytes.length, status.handle()));
      status.check();
      TensorFlowLibrary.run(
          () -> {
            START.invokeExact(server, status.handle());
          });
      status.check();
      return new NativeServer(server);
    }
  }

  /** The target of a session at this server. */
  String target() {
    return TensorFlowLibrary.string(
        TensorFlowLibrary.get(() -> (MemorySegment) TARGET.invokeExact(handle)));
  }
}
