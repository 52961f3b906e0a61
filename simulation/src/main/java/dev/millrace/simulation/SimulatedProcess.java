package dev.millrace.simulation;

import dev.millrace.base.Platform;
import dev.millrace.base.TaskThreads;
import dev.millrace.base.Timers;
import dev.millrace.base.leak.Owner;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/**
 * A process of a simulation, on a host of its own: the platform of the code that runs in it, and
 * what a test does to it.
 *
 * <p>Threading: the threads of its simulation.
 */
public final class SimulatedProcess implements Platform {
  private final Simulation simulation;
  private final String name;
  private final String address;
  private final SplittableRandom random;
  private final SimulatedTimers timers;
  private final SimulatedSockets sockets;
  private final List<Thread> threads = new ArrayList<>();
  private final Owner owner = new Owner();

  /** Threads that could go on if the process were not paused. */
  private final List<Runnable> held = new ArrayList<>();

  private boolean paused;
  private boolean killed;

  SimulatedProcess(Simulation simulation, String name, String address, long seed) {
    this.simulation = simulation;
    this.name = name;
    this.address = address;
    this.random = new SplittableRandom(seed);
    this.timers = new SimulatedTimers(simulation, this);
    this.sockets = new SimulatedSockets(simulation, this);
  }

  /** The name that messages give it. */
  public String name() {
    return name;
  }

  /** The address of its host. */
  public String address() {
    return address;
  }

  /** Starts a thread of the process. */
  public Thread start(String threadName, Runnable body) {
    Thread t = newThread(threadName, body);
    t.start();
    return t;
  }

  /** Its threads that have not ended. */
  public List<Thread> threads() {
    threads.removeIf(t -> t.getState() == Thread.State.TERMINATED);
    return List.copyOf(threads);
  }

  /** How many of its sockets, listening or connected, are open. */
  public int openSockets() {
    return sockets.open().size();
  }

  /** How many of its selectors are open. */
  public int openSelectors() {
    return sockets.openSelectors();
  }

  // ---- faults ----

  /** Stops all its threads, as SIGSTOP does. Its host still receives. */
  public void pause() {
    paused = true;
  }

  /** Lets its threads go on. */
  public void resume() {
    paused = false;
    held.forEach(Runnable::run);
    held.clear();
  }

  /** Ends it, as SIGKILL does: its host closes its connections. */
  public void kill() {
    killed = true;
    owner.kill();
    held.clear();
    sockets.closeAll();
  }

  /** Ends it with its host: the others receive nothing from it, not even that it is gone. */
  public void crash() {
    simulation.network().disconnect(address);
    kill();
  }

  /** Whether it has not been killed. */
  public boolean isAlive() {
    return !killed;
  }

  /** Whether a thread may have its turn now; {@code again} asks for another turn. */
  boolean takes(Runnable again) {
    if (paused && !killed) {
      held.add(again);
    }
    return !paused && !killed;
  }

  // ---- the platform ----

  @Override
  public Timers timers() {
    return timers;
  }

  @Override
  public Thread newThread(String threadName, Runnable body) {
    Thread t = new SimulatedThread(simulation, this, threadName, () -> owner.run(body)).thread();
    threads.add(t);
    return t;
  }

  @Override
  public Thread newVirtualThread(String threadName, Runnable body) {
    return newThread(threadName, body);
  }

  @Override
  public TaskThreads threads(String threadName, int limit) {
    return new SimulatedThreads(this, threadName);
  }

  /** It is alone on its host. */
  @Override
  public boolean sharesMemory() {
    return false;
  }

  /** A simulated process ends by being killed, which runs no hooks. */
  @Override
  public void addExitHook(Thread hook) {}

  @Override
  public void removeExitHook(Thread hook) {}

  @Override
  public SelectorProvider sockets() {
    return sockets;
  }

  @Override
  public RandomGenerator random() {
    return random;
  }

  /** Can be guessed from the seed. */
  @Override
  public RandomGenerator secureRandom() {
    return random;
  }
}
