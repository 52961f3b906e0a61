package dev.millrace.base;

import java.nio.channels.spi.SelectorProvider;
import java.security.SecureRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.random.RandomGenerator;

/**
 * This machine.
 *
 * <p>Threading: any thread.
 */
final class SystemPlatform implements Platform {
  static final SystemPlatform INSTANCE = new SystemPlatform();

  private static final SecureRandom SECURE = new SecureRandom();

  private SystemPlatform() {}

  @Override
  public Timers timers() {
    return SystemTimers.INSTANCE;
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
