package dev.millrace.runtime.exec;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.runtime.device.Device;
import dev.millrace.runtime.plan.GraphPartitioner;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.UnaryOperator;

/**
 * Runs the steps of one graph on devices of this process: the whole of a step in a local session,
 * this task's part of it in a cluster. The graph is cut by device and compiled once.
 *
 * <p>Threading: any number of steps at once. The part of the first device runs on the thread that
 * calls {@link #run}, the others on threads of the executor.
 */
public final class StepExecutor implements AutoCloseable {
  private record Part(Device device, CompiledGraph graph) {
    static Part of(Device device, Graph graph) {
      return new Part(device, new CompiledGraph(graph, device.kind(), device.memory()));
    }
  }

  private final List<Part> parts;
  private final VariableStore store;
  private final Executor threads;

  private StepExecutor(List<Part> parts, VariableStore store, Executor threads) {
    this.parts = parts;
    this.store = store;
    this.threads = threads;
  }

  /**
   * Compiles a graph whose nodes have devices out of {@code devices}, which share a store.
   *
   * @param threads run the parts of all devices but one; may be null if there is only one
   */
  public static StepExecutor compile(Graph graph, List<Device> devices, Executor threads) {
    Map<String, Device> byName = new HashMap<>();
    devices.forEach(d -> byName.put(d.name(), d));
    List<Part> parts = new ArrayList<>();
    GraphPartitioner.partition(
            graph, UnaryOperator.identity(), d -> deviceOf(byName, d).incarnation(), "G")
        .forEach((d, g) -> parts.add(Part.of(deviceOf(byName, d), g)));
    return new StepExecutor(List.copyOf(parts), devices.getFirst().resources().store(), threads);
  }

  private static Device deviceOf(Map<String, Device> byName, String name) {
    Device d = byName.get(name);
    if (d == null) {
      throw MillraceException.invalid(
          "Device '%s' does not exist on this task; it has %s.", name, byName.keySet());
    }
    return d;
  }

  /**
   * Runs a step and commits what it changed, before its caller learns that it has ended. A failure
   * is left in the step; this returns when all is quiet.
   */
  public void run(Step step) {
    if (parts.size() > 1) {
      runOnSeveral(step);
    } else if (!parts.isEmpty()) {
      run(parts.getFirst(), step);
    }
    step.commit(store);
  }

  private static void run(Part p, Step step) {
    StepRun.run(p.graph, step, p.device.resources());
  }

  private void runOnSeveral(Step step) {
    CountDownLatch others = new CountDownLatch(parts.size() - 1);
    for (Part p : parts.subList(1, parts.size())) {
      try {
        threads.execute(
            () -> {
              try {
                run(p, step);
              } catch (Throwable t) {
                step.fail(MillraceException.of(t));
              } finally {
                others.countDown();
              }
            });
      } catch (RejectedExecutionException e) {
        step.fail(StepFailures.cancelledByClose());
        others.countDown();
      }
    }
    try {
      run(parts.getFirst(), step);
    } finally {
      awaitOthers(others, step);
    }
  }

  /** Waits for the other devices, also when interrupted: they use what the caller fed. */
  private static void awaitOthers(CountDownLatch others, Step step) {
    boolean interrupted = false;
    while (true) {
      try {
        others.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
        step.fail(StepFailures.interrupted(e));
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Gives back what idle steps keep. Steps under way go on. */
  @Override
  public void close() {
    parts.forEach(p -> p.graph.close());
  }
}
