package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.graph.AsyncKernel;
import dev.millrace.graph.Kernel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Threads of a context that walk through datasets and call their functions. They are threads of the
 * platform: functions compute, and virtual threads that compute keep others from running.
 *
 * <p>Threading: any thread.
 */
final class DataThreads {
  private static final long IDLE_SECONDS = 5;

  private static final Context.Part<ExecutorService> POOL = Context.Part.of(DataThreads::pool);

  private DataThreads() {}

  private static ExecutorService pool(Context context) {
    return new ThreadPoolExecutor(
        0,
        Integer.MAX_VALUE,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        new SynchronousQueue<>(),
        context.threads("millrace-data-"));
  }

  static void start(Runnable work) {
    Context.current().get(POOL).execute(work);
  }

  static <T> CompletableFuture<T> start(Supplier<T> work) {
    return CompletableFuture.supplyAsync(work, Context.current().get(POOL));
  }

  /** {@code kernel}, run on one of these threads. */
  static AsyncKernel kernel(Kernel kernel) {
    return (c, done) ->
        start(
            () -> {
              try {
                c.cancellation().check();
                kernel.compute(c);
              } catch (Throwable t) {
                c.fail(MillraceException.of(t));
              }
              done.run();
            });
  }

  /** Waits for work; ends with the cancellation, which does not end the work. */
  static <T> T await(CompletableFuture<T> work, Cancellation c) {
    CompletableFuture<Void> cancelled = new CompletableFuture<>();
    try (Cancellation.Registration _ = c.onCancel(() -> cancelled.complete(null))) {
      CompletableFuture.anyOf(work, cancelled).handle((v, e) -> null).join();
    }
    if (!work.isDone()) {
      c.check();
    }
    try {
      return work.join();
    } catch (CompletionException e) {
      throw MillraceException.of(e.getCause());
    }
  }
}
