package dev.millrace.cluster.transport;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import io.grpc.Context;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/**
 * Cancels the step of a gRPC call once its client no longer waits: the client has cancelled the
 * call, its process or connection is gone, or the call's deadline has passed.
 *
 * <p>gRPC notifies a call's listener only after its method has returned, which is too late for a
 * method that runs a step. The call's {@link Context} is notified at once.
 */
final class ClientCancellation {
  private ClientCancellation() {}

  /** A cancellation tied to the current call; {@code why} makes the cause from the code. */
  static Cancellation ofCurrentCall(Function<Code, MillraceException> why) {
    Cancellation c = new Cancellation();
    Context.current().addListener(call -> c.cancel(why.apply(code(call))), Runnable::run);
    return c;
  }

  /** Whether the client no longer waits for the current call. */
  static boolean isCurrentCallCancelled() {
    return Context.current().isCancelled();
  }

  private static Code code(Context call) {
    return call.cancellationCause() instanceof TimeoutException
        ? Code.DEADLINE_EXCEEDED
        : Code.CANCELLED;
  }
}
