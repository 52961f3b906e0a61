package dev.millrace.interop;

import static dev.millrace.interop.TensorFlowLibrary.INT;
import static dev.millrace.interop.TensorFlowLibrary.LONG;
import static dev.millrace.interop.TensorFlowLibrary.POINTER;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * A {@code TF_Session} over a graph, in this process or at a server.
 *
 * <p>Threading: {@link #run} may be called from several threads at once, each with a status of its
 * own.
 */
final class NativeSession implements AutoCloseable {
  private static final MethodHandle NEW_OPTIONS =
      TensorFlowLibrary.function("TF_NewSessionOptions", POINTER);
  private static final MethodHandle DELETE_OPTIONS =
      TensorFlowLibrary.procedure("TF_DeleteSessionOptions", POINTER);
  private static final MethodHandle SET_TARGET =
      TensorFlowLibrary.procedure("TF_SetTarget", POINTER, POINTER);
  private static final MethodHandle SET_CONFIG =
      TensorFlowLibrary.procedure("TF_SetConfig", POINTER, POINTER, LONG, POINTER);
  private static final MethodHandle NEW =
      TensorFlowLibrary.function("TF_NewSession", POINTER, POINTER, POINTER, POINTER);
  private static final MethodHandle CLOSE =
      TensorFlowLibrary.procedure("TF_CloseSession", POINTER, POINTER);
  private static final MethodHandle DELETE =
      TensorFlowLibrary.procedure("TF_DeleteSession", POINTER, POINTER);
  private static final MethodHandle RUN =
      TensorFlowLibrary.procedure(
          "TF_SessionRun",
          POINTER,
          POINTER,
          POINTER,
          POINTER,
          INT,
          POINTER,
          POINTER,
          INT,
          POINTER,
          INT,
          POINTER,
          POINTER);

  private final MemorySegment handle;

  private NativeSession(MemorySegment handle) {
    this.handle = handle;
  }

  static NativeSession open(NativeGraph graph, TensorFlowSessionOptions options) {
    MemorySegment o = TensorFlowLibrary.get(() -> (MemorySegment) NEW_OPTIONS.invokeExact());
    try (Arena arena = Arena.ofConfined();
        Status status = new Status()) {
      MemorySegment target = arena.allocateFrom(options.target());
      TensorFlowLibrary.run(
          () -> {
            SET_TARGET.invokeExact(o, target);
          });
      byte[] config = options.config().toByteArray();
      MemorySegment bytes = NativeBytes.copy(config, arena);
      TensorFlowLibrary.run(
          () -> {
            SET_CONFIG.invokeExact(o, bytes, (long) config.length, status.handle());
          });
      status.check();
      MemorySegment session =
          TensorFlowLibrary.get(
              () -> (MemorySegment) NEW.invokeExact(graph.handle(), o, status.handle()));
      status.check();
      return new NativeSession(session);
    } finally {
      TensorFlowLibrary.run(
          () -> {
            DELETE_OPTIONS.invokeExact(o);
          });
    }
  }

  /** Feeds, fetches and targets of one step as C wants them. */
  record Arguments(
      MemorySegment runOptions,
      MemorySegment feeds,
      MemorySegment feedValues,
      int feedCount,
      MemorySegment fetches,
      MemorySegment fetchValues,
      int fetchCount,
      MemorySegment targets,
      int targetCount) {}

  void run(Arguments a, Status status) {
    TensorFlowLibrary.run(
        () -> {
          RUN.invokeExact(
              handle,
              a.runOptions,
              a.feeds,
              a.feedValues,
              a.feedCount,
              a.fetches,
              a.fetchValues,
              a.fetchCount,
              a.targets,
              a.targetCount,
              MemorySegment.NULL,
              status.handle());
        });
    status.check();
  }

  /** Closes the session. An error on the way, such as a server that is gone, does not matter. */
  @Override
  public void close() {
    try (Status status = new Status()) {
      TensorFlowLibrary.run(
          () -> {
            CLOSE.invokeExact(handle, status.handle());
          });
      TensorFlowLibrary.run(
          () -> {
            DELETE.invokeExact(handle, status.handle());
          });
    }
  }
}
