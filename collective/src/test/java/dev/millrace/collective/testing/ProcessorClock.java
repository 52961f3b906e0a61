package dev.millrace.collective.testing;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * A clock that a busy machine holds up as it does all else: it shows the processor time given to a
 * thread that always wants it, from now on. On a quiet machine it goes like any other.
 */
public final class ProcessorClock implements AutoCloseable {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private volatile long nanos;
  private volatile boolean closed;

  public ProcessorClock() {
    Thread.ofPlatform().daemon().name("processor-clock").start(this::go);
  }

  private void go() {
    while (!closed) {
      nanos = THREADS.getCurrentThreadCpuTime();
    }
  }

  public double seconds() {
    return nanos / 1e9;
  }

  @Override
  public void close() {
    closed = true;
  }
}
