package dev.millrace.runtime.device;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/** Finds the kinds of device of a process and lists the devices of a task. */
public final class DeviceKinds {
  private DeviceKinds() {}

  /** So many CPUs. */
  public static List<DeviceKind> cpus(int count) {
    return java.util.Collections.nCopies(count, DeviceKind.HOST);
  }

  /**
   * The devices of a task: those of the CPU, then those of each kind that {@code loader} sees.
   *
   * @param counts how many of each kind by its name, as TensorFlow's {@code device_count}; one CPU
   *     and what is {@link DeviceKind#available available} where a kind is not listed
   */
  public static List<DeviceKind> find(ClassLoader loader, Map<String, Integer> counts) {
    List<DeviceKind> all = new ArrayList<>(cpus(counts.getOrDefault("CPU", 1)));
    List<String> names = new ArrayList<>(List.of("CPU"));
    Iterator<DeviceKind> found = ServiceLoader.load(DeviceKind.class, loader).iterator();
    try {
      while (found.hasNext()) {
        DeviceKind kind = found.next();
        if (names.contains(kind.name())) {
          throw MillraceException.failedPrecondition(
              "Two kinds of device are called '%s'; the second is %s.",
              kind.name(), kind.getClass().getName());
        }
        names.add(kind.name());
        int count = counts.getOrDefault(kind.name(), kind.available());
        for (int i = 0; i < count; i++) {
          all.add(kind);
        }
      }
    } catch (ServiceConfigurationError e) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION, "A kind of device cannot be loaded: " + e.getMessage(), e);
    }
    return all;
  }
}
