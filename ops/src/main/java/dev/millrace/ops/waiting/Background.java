package dev.millrace.ops.waiting;

import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.graph.AsyncKernel;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;

/** Runs kernels that wait for files on a thread of their own, so that the step's goes on. */
public final class Background {
  private Background() {}

  /**
   * {@code kernel}, run on a virtual thread. It should look at the step's cancellation at times.
   */
  public static AsyncKernel of(Kernel kernel) {
    return (c, done) ->
        Context.current()
            .platform()
            .newVirtualThread("millrace-io " + c.node().name(), () -> run(kernel, c, done))
            .start();
  }

  private static void run(Kernel kernel, KernelContext c, Runnable done) {
    try {
      c.cancellation().check();
      kernel.compute(c);
    } catch (Throwable t) {
      c.fail(MillraceException.of(t));
    }
    done.run();
  }
}
