package dev.millrace.base.context;

import dev.millrace.base.Platform;
import dev.millrace.base.TaskThreads;
import dev.millrace.base.Timers;
import java.nio.channels.spi.SelectorProvider;
import java.util.random.RandomGenerator;

/**
 * A platform whose threads run in one context.
 *
 * <p>Threading: any thread.
 */
record ContextPlatform(Context context, Platform machine) implements Platform {
  @Override
  public Timers timers() {
    return machine.timers();
  }

  @Override
  public Thread newThread(String name, Runnable body) {
    return machine.newThread(name, () -> context.run(body));
  }

  @Override
  public Thread newVirtualThread(String name, Runnable body) {
    return machine.newVirtualThread(name, () -> context.run(body));
  }

  @Override
  public TaskThreads threads(String name, int limit) {
    TaskThreads threads = machine.threads(name, limit);
    return new TaskThreads() {
      @Override
      public void execute(Runnable work) {
        threads.execute(() -> context.run(work));
      }

      @Override
      public void close() {
        threads.close();
      }
    };
  }

  @Override
  public boolean sharesMemory() {
    return machine.sharesMemory();
  }

  @Override
  public void addExitHook(Thread hook) {
    machine.addExitHook(hook);
  }

  @Override
  public void removeExitHook(Thread hook) {
    machine.removeExitHook(hook);
  }

  @Override
  public SelectorProvider sockets() {
    return machine.sockets();
  }

  @Override
  public RandomGenerator random() {
    return machine.random();
  }

  @Override
  public RandomGenerator secureRandom() {
    return machine.secureRandom();
  }
}
