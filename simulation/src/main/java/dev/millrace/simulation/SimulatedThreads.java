package dev.millrace.simulation;

import dev.millrace.base.TaskThreads;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;

/**
 * A simulated thread for each piece of work.
 *
 * <p>Threading: the threads of the simulation.
 */
final class SimulatedThreads implements TaskThreads {
  private final SimulatedProcess process;
  private final String name;
  private final Set<Thread> running = new LinkedHashSet<>();
  private int count;
  private boolean closed;

  SimulatedThreads(SimulatedProcess process, String name) {
    this.process = process;
    this.name = name;
  }

  @Override
  public void execute(Runnable work) {
    if (closed) {
      throw new RejectedExecutionException("The task has ended.");
    }
    process.start(
        name + count++,
        () -> {
          running.add(Thread.currentThread());
          try {
            work.run();
          } finally {
            running.remove(Thread.currentThread());
          }
        });
  }

  @Override
  public void close() {
    closed = true;
    List.copyOf(running).forEach(Thread::interrupt);
  }
}
