package dev.millrace.cluster.transport;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import io.grpc.Context;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/**
 * Tells the step of a gRPC call that nobody waits for its answer any more: the client has cancelled
 * the call, its process or connection is gone, or the call's deadline has passed.
 *
 * <p>gRPC gives this word to a call's listener only after its method has returned, which is too
 * late for a method that runs a step. A call's {@link Context} hears it at once.
 */
final class CallEnd {
  private CallEnd() {}

  /** Cancelled with the call that is being served, for the reason {@code why} makes of its code. */
  static Cancellation cancellation(Function<Code, MillraceException> why) {
    Cancellation c = new Cancellation();
    Context.current().addListener(call -> c.cancel(why.apply(code(call))), Runnable::run);
    return c;
  }

  /** Whether the call that is being served is over for its client. */
  static boolean isGone() {
    return Context.current().isCancelled();
  }

  private static Code code(Context call) {
    return call.cancellationCause() instanceof TimeoutException
        ? Code.DEADLINE_EXCEEDED
        : Code.CANCELLED;
  }
}
