package dev.millrace.base.config;

import static dev.millrace.base.config.Setting.Group.COMPUTE;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;

/** Settings of compute threads and tensor memory. */
public final class ComputeSettings {
  public static final Setting<Integer> THREADS =
      Setting.optional(
              COMPUTE,
              "millrace.threads",
              SettingKind.integer("", 1),
              "Threads that a kernel's loops are split over, the calling thread included.")
          .otherwise(Runtime.getRuntime()::availableProcessors, "one per processor");

  public static final Setting<Long> POOL_BYTES =
      Setting.optional(
              COMPUTE,
              "millrace.pool.bytes",
              SettingKind.bytes(),
              "Memory of released tensors kept for reuse. No buffer of more than a quarter of"
                  + " it is kept.")
          .otherwise(
              ComputeSettings::usualPoolBytes,
              "4 GiB, at most a quarter of the memory of the machine or container");

  public static final Setting<Boolean> NATIVE =
      Setting.of(
          COMPUTE,
          "millrace.native",
          SettingKind.BOOLEAN,
          true,
          "Whether matrix products and convolutions use oneDNN; if not, they run in Java.");

  public static final Setting<Boolean> VECTOR =
      Setting.of(
          COMPUTE,
          "millrace.vector",
          SettingKind.BOOLEAN,
          true,
          "Whether loops use the JDK's Vector API where the JVM has it; if not, they are plain.");

  public static final Setting<Path> NATIVE_CACHE =
      Setting.optional(
          COMPUTE,
          "millrace.native.cache",
          SettingKind.PATH,
          "The folder oneDNN is unpacked into, in place of the user's cache folder.");

  public static final Setting<Boolean> TENSOR_DEBUG =
      Setting.of(
          COMPUTE,
          "millrace.tensor.debug",
          SettingKind.BOOLEAN,
          false,
          "Records where tensors are closed; the error about a closed tensor shows the place.");

  public static final Setting<Boolean> TENSOR_CHECK =
      Setting.of(
          COMPUTE,
          "millrace.tensor.check",
          SettingKind.BOOLEAN,
          false,
          "For tests: fills released tensor memory with a pattern, and finds tensors that were"
              + " dropped without being released and memory written after its release.");

  static final List<Setting<?>> ALL =
      List.of(THREADS, POOL_BYTES, NATIVE, VECTOR, NATIVE_CACHE, TENSOR_DEBUG, TENSOR_CHECK);

  private ComputeSettings() {}

  private static long usualPoolBytes() {
    long most = 4L << 30;
    return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean machine
        ? Math.min(most, machine.getTotalMemorySize() / 4)
        : most;
  }
}
