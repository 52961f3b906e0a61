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
    return SystemPlatform.INSTANCE;
  }

  /** The clock and its waits. */
  Timers timers();

  /** A daemon thread of the operating system, not started. */
  Thread newThread(String name, Runnable body);

  /** A virtual thread, not started: for work that mostly waits. */
  Thread newVirtualThread(String name, Runnable body);

  /** Opens sockets, and selectors for them. */
  SelectorProvider sockets();

  /** Random numbers for ids and jitter. */
  RandomGenerator random();

  /** Random numbers that nobody can guess. */
  RandomGenerator secureRandom();
}
