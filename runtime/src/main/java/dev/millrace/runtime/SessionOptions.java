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

  public SessionOptions withCpuDevices(int n) {
    return new SessionOptions(n, softPlacement, placementLog, simplify);
  }

  public SessionOptions withSoftPlacement(boolean soft) {
    return new SessionOptions(cpuDevices, soft, placementLog, simplify);
  }

  public SessionOptions withPlacementLog(PrintStream log) {
    return new SessionOptions(cpuDevices, softPlacement, log, simplify);
  }

  public SessionOptions withSimplify(boolean s) {
    return new SessionOptions(cpuDevices, softPlacement, placementLog, s);
  }
}
