package dev.millrace.base;

import java.util.concurrent.Executor;

/**
 * Threads for work that waits far more often than it computes.
 *
 * <p>Threading: any thread.
 */
public interface TaskThreads extends Executor, AutoCloseable {
  /** Interrupts running work and accepts no more. */
  @Override
  void close();
}
