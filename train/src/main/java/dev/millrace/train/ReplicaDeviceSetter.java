package dev.millrace.train;

import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Scope;
import dev.millrace.graph.name.DeviceSpec;
import java.util.Set;

/**
 * Puts variables on the parameter servers and all else on the worker: TensorFlow's {@code
 * replica_device_setter}. For {@link Scope#withDevice(Scope.DeviceFunction)}.
 *
 * <p>A colocated variable, such as an optimizer's slot, is counted too and then follows its
 * primary.
 *
 * <p>Threading: keeps count of the variables placed; one thread at a time builds a graph with it.
 */
public final class ReplicaDeviceSetter implements Scope.DeviceFunction {
  /** The ops that hold state to be shared. */
  public static final Set<String> PS_OPS =
      Set.of(
          "Variable",
          "VariableV2",
          "AutoReloadVariable",
          "MutableHashTable",
          "MutableHashTableV2",
          "MutableHashTableOfTensors",
          "MutableHashTableOfTensorsV2",
          "MutableDenseHashTable",
          "MutableDenseHashTableV2",
          "VarHandleOp",
          "BoostedTreesEnsembleResourceHandleOp",
          "BoostedTreesQuantileStreamResourceHandleOp",
          "ResourceConditionalAccumulator");

  private final DeviceSpec ps;
  private final DeviceSpec worker;
  private final PsStrategy strategy;

  private ReplicaDeviceSetter(DeviceSpec ps, DeviceSpec worker, PsStrategy strategy) {
    this.ps = ps;
    this.worker = worker;
    this.strategy = strategy;
  }

  /** Variables on {@code /job:ps}, task by task in turn; all else on {@code /job:worker}. */
  public static ReplicaDeviceSetter of(int psTasks) {
    return of(psTasks, "/job:worker");
  }

  /** Variables on {@code /job:ps}, task by task in turn; all else on {@code workerDevice}. */
  public static ReplicaDeviceSetter of(int psTasks, String workerDevice) {
    return of(
        psTasks == 0 ? "" : "/job:ps",
        workerDevice,
        psTasks == 0 ? null : PsStrategy.roundRobin(psTasks));
  }

  /**
   * A setter with the given job for the variables, and a strategy that distributes them over its
   * tasks.
   */
  public static ReplicaDeviceSetter of(String psDevice, String workerDevice, PsStrategy strategy) {
    return new ReplicaDeviceSetter(
        DeviceSpec.parse(psDevice), DeviceSpec.parse(workerDevice), strategy);
  }

  @Override
  public String deviceFor(NodeBuilder node) {
    DeviceSpec asked = node.device();
    if (strategy == null || !PS_OPS.contains(node.op().name())) {
      return asked.over(worker).toString();
    }
    DeviceSpec d = ps;
    if (ps.job() != null && (asked.job() == null || asked.job().equals(ps.job()))) {
      int task = strategy.taskFor(node);
      d = new DeviceSpec(ps.job(), ps.replica(), task, ps.type(), ps.index());
    }
    return asked.over(d).toString();
  }
}
