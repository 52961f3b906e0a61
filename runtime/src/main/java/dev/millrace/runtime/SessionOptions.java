package dev.millrace.runtime;

import java.io.PrintStream;

/**
 * How a session works.
 *
 * @param cpuDevices how many CPU devices an in-process session has
 * @param softPlacement whether a device that does not exist may be replaced by one that does
 * @param placementLog where each node's device is printed in TensorFlow's form; null for nowhere
 * @param simplify whether graphs are simplified before they run
 */
public record SessionOptions(
    int cpuDevices, boolean softPlacement, PrintStream placementLog, boolean simplify) {
  public static final SessionOptions DEFAULT = new SessionOptions(1, false, null, true);

  /** Devices {@code CPU:0} to {@code CPU:n-1}. */
  public SessionOptions withCpuDevices(int n) {
    return new SessionOptions(n, softPlacement, placementLog, simplify);
  }

  /** Whether nodes on devices that do not exist go elsewhere. */
  public SessionOptions withSoftPlacement(boolean soft) {
    return new SessionOptions(cpuDevices, soft, placementLog, simplify);
  }

  /** Writes where each node went, in TensorFlow's lines. */
  public SessionOptions withPlacementLog(PrintStream log) {
    return new SessionOptions(cpuDevices, softPlacement, log, simplify);
  }

  /** Whether constants are folded and equal nodes shared. */
  public SessionOptions withSimplify(boolean s) {
    return new SessionOptions(cpuDevices, softPlacement, placementLog, s);
  }
}
