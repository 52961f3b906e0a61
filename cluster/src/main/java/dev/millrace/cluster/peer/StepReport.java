package dev.millrace.cluster.peer;

import dev.millrace.proto.DeviceStepStats;
import dev.millrace.runtime.exec.AwaitedNodes;
import java.util.ArrayList;
import java.util.List;

/**
 * What the tasks of a step tell about it beside its results: what ran when, if that was asked for,
 * and what a step that was ended was waiting for.
 *
 * <p>Threading: any thread.
 */
public final class StepReport {
  private final boolean traced;
  private final List<DeviceStepStats> times = new ArrayList<>(0);
  private AwaitedNodes awaited;

  /** A report with times if {@code traced}. */
  public StepReport(boolean traced) {
    this.traced = traced;
  }

  /** Whether to record what ran when. */
  public boolean isTraced() {
    return traced;
  }

  /** Adds what ran when on one device. */
  public synchronized void addTimes(DeviceStepStats ofDevice) {
    times.add(ofDevice);
  }

  /** What ran when, by device. */
  public synchronized List<DeviceStepStats> times() {
    return List.copyOf(times);
  }

  /** Adds what one task was waiting for. */
  public synchronized void addAwaited(List<String> nodes, List<String> tensors) {
    if (awaited == null) {
      awaited = new AwaitedNodes();
    }
    awaited.addAll(nodes, tensors);
  }

  /** The nodes that waited; see {@link AwaitedNodes#nodes}. */
  public synchronized List<String> awaitedNodes() {
    return awaited == null ? List.of() : awaited.nodes();
  }

  /** The tensors that were awaited; see {@link AwaitedNodes#tensors}. */
  public synchronized List<String> awaitedTensors() {
    return awaited == null ? List.of() : awaited.tensors();
  }

  /** What to tell a user that the step was waiting for. */
  public synchronized List<String> reasons() {
    return awaited == null ? List.of() : awaited.reasons();
  }
}
