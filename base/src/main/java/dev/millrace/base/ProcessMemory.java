package dev.millrace.base;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The memory of processes, as Linux tells it. */
public final class ProcessMemory {
  private ProcessMemory() {}

  /** Bytes of this process that are in the machine's memory; 0 where the system does not tell. */
  public static long residentBytes() {
    return residentBytes(ProcessHandle.current().pid());
  }

  /** The resident memory of process {@code pid} in bytes; 0 if it does not exist. */
  public static long residentBytes(long pid) {
    try {
      return Files.readAllLines(Path.of("/proc/" + pid + "/status")).stream()
          .filter(line -> line.startsWith("VmRSS:"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
          .findFirst()
          .orElse(0);
    } catch (IOException e) {
      return 0;
    }
  }
}
