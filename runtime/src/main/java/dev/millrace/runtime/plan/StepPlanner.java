package dev.millrace.runtime.plan;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.runtime.device.Device;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * Plans the steps of a session. The plan of each {@link StepSignature} is made once: the graph is
 * pruned to what the step needs, placed on devices and simplified; the {@link Maker} turns the
 * result into a plan that can run, by compiling it or by registering its parts with other tasks.
 *
 * <p>Threading: any thread. Plans are made one at a time, and not while the graph grows by {@link
 * #grow}.
 *
 * @param <P> a plan that can run
 */
public final class StepPlanner<P> {
  /** Makes the plan of a step out of its graph, whose nodes have devices. */
  @FunctionalInterface
  public interface Maker<P> {
    P make(StepSignature signature, Graph step);
  }

  /**
   * How the graphs of steps are made.
   *
   * @param soft whether a device that does not exist may be replaced by one that does
   * @param placed told the device of each node; null for nobody
   * @param simplify whether steps are simplified
   * @param boundary how values enter and leave a step
   */
  public record Rules(
      boolean soft,
      BiConsumer<Node, String> placed,
      boolean simplify,
      ClientGraph.Boundary boundary) {}

  private final Graph graph;
  private final List<Device> devices;
  private final Rules rules;
  private final Maker<P> maker;
  private final Map<StepSignature, P> plans = new ConcurrentHashMap<>();

  /** Held while a plan is made, which may wait for other tasks. */
  private final Lock planning = new ReentrantLock();

  /** Devices of the nodes placed so far. Guarded by the lock, as is the count. */
  private Map<Node, String> placement = Map.of();

  private int placedNodes;

  /** Plans steps of {@code graph} on {@code devices}. */
  public StepPlanner(Graph graph, List<Device> devices, Rules rules, Maker<P> maker) {
    this.graph = graph;
    this.devices = List.copyOf(devices);
    this.rules = rules;
    this.maker = maker;
  }

  /** The plan of a step, or null if it has not been made yet. */
  public P knownPlan(StepSignature s) {
    return plans.get(s);
  }

  /** The plan of a step; made if this is its first time. */
  public P planFor(StepSignature s) {
    P known = plans.get(s);
    return known != null ? known : makePlan(s);
  }

  private P makePlan(StepSignature s) {
    planning.lock();
    try {
      P known = plans.get(s);
      if (known != null) {
        return known;
      }
      P plan = maker.make(s, stepGraph(s));
      plans.put(s, plan);
      return plan;
    } finally {
      planning.unlock();
    }
  }

  /** The part of the graph that a step runs, with a device for each node. */
  public Graph stepGraph(StepSignature s) {
    planning.lock();
    try {
      s.checkIn(graph);
      place();
      Graph step = ClientGraph.of(graph, s, placement, rules.boundary);
      return rules.simplify ? Simplifier.simplify(step, s.targetSet()) : step;
    } finally {
      planning.unlock();
    }
  }

  /** Gives a device to every node that has none. Throws if there is none for one of them. */
  public void place() {
    planning.lock();
    try {
      if (graph.size() == placedNodes) {
        return;
      }
      Map<Node, String> before = placement;
      placement = Placer.place(graph, devices, rules.soft, before);
      placedNodes = graph.size();
      if (rules.placed != null) {
        for (Node n : graph.nodes()) {
          if (!before.containsKey(n) && placement.containsKey(n)) {
            rules.placed.accept(n, placement.get(n));
          }
        }
      }
    } finally {
      planning.unlock();
    }
  }

  /**
   * Adds nodes to the graph and places them. If that fails, the graph is again what it was, so that
   * the caller may try again.
   */
  public void grow(Consumer<Graph> addNodes) {
    planning.lock();
    try {
      int before = graph.size();
      try {
        addNodes.accept(graph);
        place();
      } catch (MillraceException e) {
        graph.truncate(before);
        throw e;
      }
    } finally {
      planning.unlock();
    }
  }

  /** Forgets all plans and gives each to {@code end}. */
  public void close(Consumer<P> end) {
    planning.lock();
    try {
      plans.values().forEach(end);
      plans.clear();
    } finally {
      planning.unlock();
    }
  }
}
