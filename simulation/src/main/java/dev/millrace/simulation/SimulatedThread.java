package dev.millrace.simulation;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.util.concurrent.Executor;

/**
 * A thread of a simulated process: a virtual thread that runs when the simulation gives it a turn.
 * The JDK has no public way to give a virtual thread its scheduler, so this uses the JDK's own.
 *
 * <p>Threading: any thread.
 */
final class SimulatedThread implements Executor {
  private static final MethodHandle NEW_VIRTUAL_THREAD = find();

  private final Simulation simulation;
  private final SimulatedProcess process;
  private final int number;
  private final Thread thread;

  SimulatedThread(Simulation simulation, SimulatedProcess process, String name, Runnable body) {
    this.simulation = simulation;
    this.process = process;
    this.number = simulation.nextThread();
    try {
      this.thread = (Thread) NEW_VIRTUAL_THREAD.invoke((Executor) this, name, 0, body);
    } catch (Throwable e) {
      throw new IllegalStateException("This JDK does not make virtual threads as expected.", e);
    }
  }

  private static MethodHandle find() {
    try {
      Method m =
          Class.forName("java.lang.ThreadBuilders")
              .getDeclaredMethod(
                  "newVirtualThread", Executor.class, String.class, int.class, Runnable.class);
      m.setAccessible(true);
      return MethodHandles.lookup().unreflect(m);
    } catch (ReflectiveOperationException | RuntimeException e) {
      throw new IllegalStateException(
          "A simulation needs JDK 25 and the option --add-opens java.base/java.lang=ALL-UNNAMED.",
          e);
    }
  }

  Thread thread() {
    return thread;
  }

  SimulatedProcess process() {
    return process;
  }

  int number() {
    return number;
  }

  /** Called by the JDK whenever the thread can go on. */
  @Override
  public void execute(Runnable continuation) {
    simulation.submit(this, continuation);
  }
}
