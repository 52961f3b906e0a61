package dev.millrace.runtime;

import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.runtime.device.DeviceKind;
import dev.millrace.runtime.device.DeviceKinds;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * How a session works.
 *
 * @param devices the kind of each device of an in-process session
 * @param softPlacement whether a device that does not exist may be replaced by one that does
 * @param placementLog where each node's device is printed in TensorFlow's form; null for nowhere
 * @param simplify whether graphs are simplified before they run
 * @param stepTimeout the time limit of steps whose {@link RunOptions} name none; zero for no limit
 * @param timers the clock by which steps wait and time out; null for that of the context
 * @param store keeps the variables of an in-process session
 * @param context its settings, compute threads and memory; null for those of the thread that opens
 *     the session
 */
public record SessionOptions(
    List<DeviceKind> devices,
    boolean softPlacement,
    PrintStream placementLog,
    boolean simplify,
    Duration stepTimeout,
    Timers timers,
    VariableStore store,
    Context context) {
  public SessionOptions {
    devices = List.copyOf(devices);
  }

  /** How long a step may take unless its session or its options say otherwise. */
  public static final Duration DEFAULT_STEP_TIMEOUT = Duration.ofMinutes(10);

  public static final SessionOptions DEFAULT =
      new SessionOptions(
          DeviceKinds.cpus(1),
          false,
          null,
          true,
          DEFAULT_STEP_TIMEOUT,
          null,
          VariableStore.MEMORY,
          null);

  /** Devices {@code CPU:0} to {@code CPU:n-1}. */
  public SessionOptions withCpuDevices(int n) {
    return new SessionOptions(
        DeviceKinds.cpus(n),
        softPlacement,
        placementLog,
        simplify,
        stepTimeout,
        timers,
        store,
        context);
  }

  /** One more device, of this kind. */
  public SessionOptions withDevice(DeviceKind kind) {
    List<DeviceKind> more = new ArrayList<>(devices);
    more.add(kind);
    return new SessionOptions(
        more, softPlacement, placementLog, simplify, stepTimeout, timers, store, context);
  }

  /** Whether nodes on devices that do not exist go elsewhere. */
  public SessionOptions withSoftPlacement(boolean soft) {
    return new SessionOptions(
        devices, soft, placementLog, simplify, stepTimeout, timers, store, context);
  }

  /** Writes where each node went, in TensorFlow's lines. */
  public SessionOptions withPlacementLog(PrintStream log) {
    return new SessionOptions(
        devices, softPlacement, log, simplify, stepTimeout, timers, store, context);
  }

  /** Whether constants are folded and equal nodes shared. */
  public SessionOptions withSimplify(boolean s) {
    return new SessionOptions(
        devices, softPlacement, placementLog, s, stepTimeout, timers, store, context);
  }

  /** How long steps may take whose options name no time; zero for no limit. */
  public SessionOptions withStepTimeout(Duration t) {
    return new SessionOptions(
        devices, softPlacement, placementLog, simplify, t, timers, store, context);
  }

  /** Waits and times out by this clock. */
  public SessionOptions withTimers(Timers t) {
    return new SessionOptions(
        devices, softPlacement, placementLog, simplify, stepTimeout, t, store, context);
  }

  /** Keeps variables, queues and other state in {@code s} instead of in memory only. */
  public SessionOptions withStore(VariableStore s) {
    return new SessionOptions(
        devices, softPlacement, placementLog, simplify, stepTimeout, timers, s, context);
  }

  /** Computes with the settings, threads and memory of {@code c}. */
  public SessionOptions withContext(Context c) {
    return new SessionOptions(
        devices, softPlacement, placementLog, simplify, stepTimeout, timers, store, c);
  }
}
