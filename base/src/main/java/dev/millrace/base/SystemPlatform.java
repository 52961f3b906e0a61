package dev.millrace.base;

import java.nio.channels.spi.SelectorProvider;
import java.security.SecureRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.random.RandomGenerator;

/**
 * This machine, with one thread for timed actions.
 *
 * <p>Threading: any thread.
 */
final class SystemPlatform implements Platform {
  static final SystemPlatform OF_PROCESS = new SystemPlatform("millrace-timers");

  private static final SecureRandom SECURE = new SecureRandom();

  private final Timers timers;

  SystemPlatform(String timerThread) {
    timers = new SystemTimers(timerThread);
  }

  @Override
  public Timers timers() {
    return timers;
  }

  @Override
  public Thread newThread(String name, Runnable body) {
    return Thread.ofPlatform().name(name).daemon().unstarted(body);
  }

  @Override
  public Thread newVirtualThread(String name, Runnable body) {
    return Thread.ofVirtual().name(name).unstarted(body);
  }

  @Override
  public TaskThreads threads(String name, int limit) {
    return new SystemThreads(name, limit);
  }

  @Override
  public boolean sharesMemory() {
    return true;
  }

  @Override
  public void addExitHook(Thread hook) {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  @Override
  public void removeExitHook(Thread hook) {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // The process is ending.
    }
  }

  @Override
  public SelectorProvider sockets() {
    return SelectorProvider.provider();
  }

  @Override
  public RandomGenerator secureRandom() {
    return SECURE;
  }

  @Override
  public RandomGenerator random() {
    return ThreadLocalRandom.current();
  }
}
