package dev.millrace.cluster.worker;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.op.Rendezvous;
import dev.millrace.runtime.Device;
import dev.millrace.runtime.exec.CompiledGraph;
import dev.millrace.runtime.exec.Step;
import dev.millrace.runtime.exec.StepRun;
import dev.millrace.runtime.exec.StepTrace;
import dev.millrace.runtime.plan.Partitioner;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A master's session on this task: the graphs it has registered and the steps it runs.
 *
 * <p>Threading: any thread.
 */
final class WorkerSession {
  private final List<Device> devices;
  private final Map<String, RegisteredGraph> graphs = new ConcurrentHashMap<>();
  private final AtomicLong handles = new AtomicLong(1);

  /** The task of the master that opened it, and which process that was; empty if not said. */
  private final String masterTask;

  private final long masterIncarnation;

  /** Whether the devices' state is this session's alone. */
  private final boolean isolated;

  /** Who this task is in the session's cluster. */
  private final Membership member;

  /** A session on the task's devices that no master has opened. */
  WorkerSession(List<Device> devices, Membership member) {
    this(devices, member, false, "", 0);
  }

  WorkerSession(
      List<Device> devices,
      Membership member,
      boolean isolated,
      String masterTask,
      long masterIncarnation) {
    this.member = member;
    this.devices = devices.stream().map(isolated ? Device::isolated : Device::inSession).toList();
    this.isolated = isolated;
    this.masterTask = masterTask;
    this.masterIncarnation = masterIncarnation;
  }

  Membership member() {
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

  String register(Graph graph) {
    Map<String, Device> byName = new HashMap<>();
    devices.forEach(d -> byName.put(d.name(), d));
    Map<String, Graph> parts =
        Partitioner.partition(graph, d -> d, d -> deviceOf(byName, d).incarnation(), "G");
    List<Part> compiled = new ArrayList<>();
    parts.forEach((d, g) -> compiled.add(new Part(deviceOf(byName, d), new CompiledGraph(g))));
    String handle = String.format("%016x", handles.getAndIncrement());
    graphs.put(handle, new RegisteredGraph(List.copyOf(compiled)));
    return handle;
  }

  private static Device deviceOf(Map<String, Device> byName, String name) {
    Device d = byName.get(name);
    if (d == null) {
      throw MillraceException.invalid(
          "Device '%s' does not exist on this task; it has %s.", name, byName.keySet());
    }
    return d;
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

  /** What runs on one device. */
  private record Part(Device device, CompiledGraph graph) {}

  /** A graph a master has registered, cut by device and compiled. */
  static final class RegisteredGraph {
    private final List<Part> parts;
    private final Set<Step> running = ConcurrentHashMap.newKeySet();

    RegisteredGraph(List<Part> parts) {
      this.parts = parts;
    }

    List<Tensor> run(
        RunGraph call, Rendezvous rendezvous, Cancellation cancellation, Executor threads) {
      // A failure here ends this task's part only; the master decides about the others.
      StepTrace trace = call.isTraced() ? new StepTrace() : null;
      Step step =
          new Step(
              call.stepId(), rendezvous, cancellation.withSameLease(), new Tensor[0], 0, trace);
      running.add(step);
      Cancellation.Registration onCancel =
          cancellation.onCancel(() -> step.fail(cancellation.cause()));
      try {
        call.feeds()
            .forEach((key, t) -> rendezvous.send(Rendezvous.Key.parse(key), t.retain(), false));
        runParts(step, threads);
        if (step.failure() != null) {
          throw step.failure();
        }
        if (trace != null) {
          StepTimes.give(trace, call.trace());
        }
        return collect(call.fetchKeys(), rendezvous);
      } finally {
        onCancel.close();
        running.remove(step);
      }
    }

    private void runParts(Step step, Executor threads) {
      CountDownLatch others = new CountDownLatch(Math.max(0, parts.size() - 1));
      for (int i = 1; i < parts.size(); i++) {
        Part p = parts.get(i);
        threads.execute(
            () -> {
              try {
                StepRun.run(p.graph, step, p.device.resources());
              } catch (Throwable t) {
                step.fail(MillraceException.of(t));
              } finally {
                others.countDown();
              }
            });
      }
      if (!parts.isEmpty()) {
        Part p = parts.getFirst();
        StepRun.run(p.graph, step, p.device.resources());
      }
      try {
        others.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        step.fail(new MillraceException(Code.CANCELLED, "The step's thread was interrupted.", e));
      }
    }

    /** All parts have ended, so what was sent under these keys is there. */
    private static List<Tensor> collect(List<String> keys, Rendezvous rendezvous) {
      List<Tensor> values = new ArrayList<>();
      try {
        for (String key : keys) {
          Fetched f = new Fetched();
          rendezvous.recv(Rendezvous.Key.parse(key), f);
          values.add(f.take(key));
        }
      } catch (MillraceException e) {
        values.forEach(Tensor::release);
        throw e;
      }
      return values;
    }

    void close() {
      for (Step s : running) {
        s.fail(
            new MillraceException(
                    Code.CANCELLED, "Step was cancelled by an explicit call to `Session::Close()`.")
                .asDerived());
      }
      parts.forEach(p -> p.graph.close());
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
          v.release();
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

    synchronized Tensor take(String key) {
      taken = true;
      if (failure != null) {
        throw failure;
      }
      if (dead || value == null) {
        throw MillraceException.internal("The tensor returned for %s was not valid.", key);
      }
      return value;
    }
  }
}
