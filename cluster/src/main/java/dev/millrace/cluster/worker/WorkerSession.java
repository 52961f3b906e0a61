package dev.millrace.cluster.worker;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Rendezvous;
import dev.millrace.runtime.device.Device;
import dev.millrace.runtime.exec.RunningSteps;
import dev.millrace.runtime.exec.Step;
import dev.millrace.runtime.exec.StepExecutor;
import dev.millrace.runtime.exec.StepFailures;
import dev.millrace.runtime.trace.StepTrace;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
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
  private static final Tensor[] NONE = new Tensor[0];

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
    graphs.put(handle, new RegisteredGraph(StepExecutor.compile(graph, devices, threads), timers));
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
      devices.forEach(d -> d.resources().clearAll());
    } else {
      devices.forEach(d -> d.resources().clear(d.resources().ownContainer()));
    }
  }

  /** A graph a master has registered. */
  static final class RegisteredGraph {
    private final StepExecutor executor;
    private final Timers timers;
    private final RunningSteps running;

    RegisteredGraph(StepExecutor executor, Timers timers) {
      this.executor = executor;
      this.timers = timers;
      this.running = new RunningSteps(timers);
    }

    List<Tensor> run(RunGraph call, Rendezvous rendezvous, Cancellation cancellation) {
      // A failure here ends this task's part only; the master decides about the others.
      StepTrace trace = call.report().isTraced() ? new StepTrace(timers) : null;
      Step step =
          new Step(
              call.stepId(),
              rendezvous,
              cancellation.withSameLease(),
              NONE,
              0,
              trace,
              null,
              timers);
      Cancellation.Registration onCancel =
          cancellation.onCancel(() -> step.fail(cancellation.cause()));
      try (RunningSteps.Registration _ = running.add(step)) {
        call.feeds()
            .forEach((key, t) -> rendezvous.send(Rendezvous.Key.parse(key), Refs.retain(t), false));
        executor.run(step);
        if (step.failure() != null) {
          if (step.awaited() != null) {
            call.report().addAwaited(step.awaited().nodes(), step.awaited().tensors());
          }
          throw step.failure();
        }
        if (trace != null) {
          StepTimes.give(trace, call.report());
        }
        return collect(call.fetchKeys(), rendezvous);
      } finally {
        onCancel.close();
      }
    }

    /** All parts have ended, so what was sent under these keys is there. */
    private static List<Tensor> collect(List<String> keys, Rendezvous rendezvous) {
      List<Tensor> values = new ArrayList<>();
      try {
        for (String key : keys) {
          Fetched f = new Fetched();
          Rendezvous.Key parsed = Rendezvous.Key.parse(key);
          rendezvous.recv(parsed, f);
          values.add(f.take(parsed.tensorName()));
        }
      } catch (MillraceException e) {
        values.forEach(Refs::release);
        throw e;
      }
      return values;
    }

    void close() {
      running.failAll(() -> StepFailures.cancelledByClose().asDerived());
      executor.close();
    }
  }

  /** A value that must be there already. */
  private static final class Fetched implements Rendezvous.Receiver {
    private Tensor value;
    private boolean dead;
    private boolean taken;
    private MillraceException failure;

    @Override
    public synchronized void received(Tensor v, boolean isDead) {
      if (taken) {
        // Too late: nobody will look at it again.
        if (v != null) {
          Refs.release(v);
        }
        return;
      }
      value = v;
      dead = isDead;
    }

    @Override
    public synchronized void failed(MillraceException cause) {
      failure = cause;
    }

    synchronized Tensor take(String output) {
      taken = true;
      if (failure != null) {
        throw failure;
      }
      if (dead || value == null) {
        throw StepFailures.noValue(StepFailures.fetched(output));
      }
      return value;
    }
  }
}
