package dev.millrace.cli.doctor;

import com.sun.management.OperatingSystemMXBean;
import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.Version;
import dev.millrace.cli.text.Amount;
import dev.millrace.storage.Failures;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.onednn.OneDnn;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/** Whether this machine can take part in a job: its Java, its memory, its disk. */
final class MachineCheck {
  private static final long LITTLE_DISK_BYTES = 1L << 30;

  private final Diagnosis found;

  MachineCheck(Diagnosis found) {
    this.found = found;
  }

  void java() {
    int feature = Runtime.version().feature();
    String vendor = ProcessEnvironment.javaVendor();
    if (feature >= 25) {
      found.ok("java", "%s, %s, Millrace %s", Runtime.version(), vendor, Version.own());
    } else {
      found.bad("java", "%s is too old: Millrace needs 25 or newer.", Runtime.version());
    }
    if (VectorModule.isPresent()) {
      found.ok("loops", "%s", VectorModule.describe());
    } else {
      found.note("loops", "%s; everything works, but slower.", VectorModule.describe());
    }
    if (OneDnn.isAvailable()) {
      found.ok("native math", "%s", OneDnn.describe());
    } else {
      found.note("native math", "%s; everything works, in Java alone.", OneDnn.describe());
    }
  }

  void memory() {
    OperatingSystemMXBean os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    found.ok(
        "memory",
        "%s in the machine, %s free; %d processors; Java heap up to %s",
        Amount.bytes(os.getTotalMemorySize()),
        Amount.bytes(os.getFreeMemorySize()),
        os.getAvailableProcessors(),
        Amount.bytes(Runtime.getRuntime().maxMemory()));
  }

  /** Does in {@code folder} what saving a checkpoint does: write, flush to disk, rename. */
  void folder(Path folder) {
    try {
      Files.createDirectories(folder);
      Path temporary = Files.createTempFile(folder, "millrace-doctor", ".tmp");
      Path named = folder.resolve(temporary.getFileName() + ".renamed");
      try (FileChannel c = FileChannel.open(temporary, StandardOpenOption.WRITE)) {
        c.write(java.nio.ByteBuffer.wrap(new byte[4096]));
        c.force(true);
      }
      Files.move(temporary, named, StandardCopyOption.ATOMIC_MOVE);
      Files.delete(named);
      long free = Files.getFileStore(folder).getUsableSpace();
      if (free < LITTLE_DISK_BYTES) {
        found.note("folder", "%s is writable, but only %s are free.", folder, Amount.bytes(free));
      } else {
        found.ok("folder", "%s is writable, %s free", folder, Amount.bytes(free));
      }
    } catch (IOException e) {
      found.bad("folder", "%s is not writable: %s.", folder, Failures.reason(e));
    }
  }
}
