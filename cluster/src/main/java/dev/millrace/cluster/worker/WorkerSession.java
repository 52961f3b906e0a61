package dev.millrace.cluster.worker;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.graph.Graph;
import dev.millrace.runtime.device.Device;
import dev.millrace.runtime.exec.RunningSteps;
import dev.millrace.runtime.exec.StepExecutor;
import dev.millrace.runtime.exec.StepFailures;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A master's session on this task: the graphs it has registered and the steps it runs.
 *
 * <p>Threading: any thread.
 */
final class WorkerSession {
  private final List<Device> devices;
  private final Timers timers;
  private final Map<String, RegisteredGraph> graphs = new ConcurrentHashMap<>();
  private final AtomicLong handles = new AtomicLong(1);

  /** The task of the master that opened it, and which process that was; empty if not said. */
  private final String masterTask;

  private final long masterIncarnation;

  /** Whether the devices' state is this session's alone. */
  private final boolean isolated;

  /** Who this task is in the session's cluster. */
  private final ClusterMembership member;

  /** A session on the task's devices that no master has opened. */
  WorkerSession(List<Device> devices, ClusterMembership member, Timers timers) {
    this(devices, member, false, "", 0, timers);
  }

  WorkerSession(
      List<Device> devices,
      ClusterMembership member,
      boolean isolated,
      String masterTask,
      long masterIncarnation,
      Timers timers) {
    this.timers = timers;
    this.member = member;
    this.devices = devices.stream().map(isolated ? Device::isolated : Device::inSession).toList();
    this.isolated = isolated;
    this.masterTask = masterTask;
    this.masterIncarnation = masterIncarnation;
  }

  ClusterMembership member() {
    return member;
  }

  /** Whether an earlier process of that task opened it. */
  boolean isOfEarlier(String task, long incarnation) {
    return !task.isEmpty() && task.equals(masterTask) && incarnation != masterIncarnation;
  }

  /** Whether the master of this task opened it. */
  boolean isOf(String task) {
    return masterTask.equals(task);
  }

  boolean hasGraphs() {
    return !graphs.isEmpty();
  }

  String register(Graph graph, Executor threads) {
    String handle = String.format("%016x", handles.getAndIncrement());
    graphs.put(
        handle,
        new RegisteredGraph(
            StepExecutor.compile(graph, devices, threads), new RunningSteps(timers)));
    return handle;
  }

  RegisteredGraph graph(String handle) {
    RegisteredGraph g = graphs.get(handle);
    if (g == null) {
      throw new MillraceException(Code.ABORTED, "Graph handle is not found: " + handle);
    }
    return g;
  }

  void deregister(String handle) {
    RegisteredGraph g = graphs.remove(handle);
    if (g == null) {
      throw new MillraceException(
          Code.ABORTED,
          "Graph handle is not found: " + handle + ". Possibly, this worker just restarted.");
    }
    g.close();
  }

  void close() {
    graphs.values().forEach(RegisteredGraph::close);
    graphs.clear();
    if (isolated) {
      devices.forEach(d -> d.resources().closeAll());
    } else {
      devices.forEach(d -> d.resources().clear(d.resources().ownContainer()));
    }
  }

  /** A graph that a master has registered, and its steps under way. */
  record RegisteredGraph(StepExecutor executor, RunningSteps running) {
    void close() {
      running.failAll(() -> StepFailures.cancelledByClose().asDerived());
      executor.close();
    }
  }
}
