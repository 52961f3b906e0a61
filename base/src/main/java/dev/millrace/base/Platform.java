package dev.millrace.base;

import java.nio.channels.spi.SelectorProvider;
import java.util.random.RandomGenerator;

/**
 * What a task takes from the machine and the JDK: time, threads, sockets and random numbers. A test
 * gives a task a simulated platform; then every run with the same seed is the same.
 *
 * <p>Threading: any thread.
 */
public interface Platform {
  /** The platform of programs that name none: this machine. */
  static Platform system() {
    return SystemPlatform.OF_PROCESS;
  }

  /** This machine, with timed actions on a thread of their own named {@code timerThread}. */
  static Platform ofMachine(String timerThread) {
    return new SystemPlatform(timerThread);
  }

  /** The clock and its waits. */
  Timers timers();

  /** A daemon thread of the operating system, not started. */
  Thread newThread(String name, Runnable body);

  /** A virtual thread, not started: for work that mostly waits. */
  Thread newVirtualThread(String name, Runnable body);

  /**
   * Threads named {@code name} and a number, for work that mostly waits; at most {@code limit} of
   * them are threads of the operating system.
   */
  TaskThreads threads(String name, int limit);

  /** Whether processes of this host can map memory that all of them see. */
  boolean sharesMemory();

  /** Has a thread, not started, run when the process ends in an orderly way. */
  void addExitHook(Thread hook);

  /** Takes back a hook of {@link #addExitHook}; it may run or have run if the process is ending. */
  void removeExitHook(Thread hook);

  /** Opens sockets, and selectors for them. */
  SelectorProvider sockets();

  /** Random numbers for ids and jitter. */
  RandomGenerator random();

  /** Random numbers that nobody can guess. */
  RandomGenerator secureRandom();
}
