package dev.millrace.base.steps;

import com.sun.management.OperatingSystemMXBean;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Adds to a {@link StepHistory} what the process and its host do: processor time, garbage
 * collection, disks, and the network of the host. It looks twice a second. If a look comes much too
 * late and no processor was short, the process was stopped meanwhile, and it says for how long.
 *
 * <p>Figures that the system does not tell are 0: all but processor time and garbage collection
 * come from Linux.
 *
 * <p>Threading: one thread of its own.
 */
public final class ProcessSampler implements AutoCloseable {
  private static final Context.Part<ProcessSampler> PART = Context.Part.of(ProcessSampler::new);
  private static final long EVERY_NANOS = 500_000_000L;

  /** A look that is later than this was prevented. */
  private static final long LATE_NANOS = 700_000_000L;

  /** The kernel counts processor time in hundredths of a second. */
  private static final long TICK_NANOS = 10_000_000L;

  private static final Pattern SPACES = Pattern.compile("\\s+");
  private static final Path STAT = Path.of("/proc/stat");
  private static final Path HOST_NAME = Path.of("/proc/sys/kernel/hostname");
  private static final Path OWN_STAT = Path.of("/proc/self/stat");
  private static final Path OWN_IO = Path.of("/proc/self/io");
  private static final Path NETWORK = Path.of("/proc/self/net/snmp");

  /** The figures that grow, in this order in a look. */
  private static final Figure[] COUNTED = {
    Figure.CPU,
    Figure.GC,
    Figure.HOST_CPU,
    Figure.HOST_STEAL,
    Figure.DISK_WAIT,
    Figure.DISK_READ,
    Figure.DISK_WRITTEN,
    Figure.SEGMENTS,
    Figure.RETRANSMITTED,
  };

  private final StepHistory history;
  private final Timers timers;
  private final Timers.Schedule schedule;
  private final @Nullable OperatingSystemMXBean system;
  private final List<GarbageCollectorMXBean> collectors =
      ManagementFactory.getGarbageCollectorMXBeans();
  private long[] before;
  private long beforeNanos;

  private ProcessSampler(Context context) {
    history = StepHistory.of(context);
    timers = context.timers();
    system =
        ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean b ? b : null;
    before = look();
    beforeNanos = timers.now();
    schedule = timers.schedule("millrace-figures");
    schedule.every(EVERY_NANOS, this::sample);
  }

  /** Samples from now on, in this context, once however often this is called. */
  public static void start(Context context) {
    context.get(PART);
  }

  /** The name of this host; empty where the system does not tell. */
  public static String host() {
    try {
      return firstLine(HOST_NAME).strip();
    } catch (IOException e) {
      return "";
    }
  }

  private void sample() {
    long[] now = look();
    long nanos = timers.now();
    long passed = nanos - beforeNanos;
    for (int i = 0; i < COUNTED.length; i++) {
      history.add(COUNTED[i], Math.max(0, now[i] - before[i]));
    }
    history.add(Figure.SAMPLED, passed);
    long late = passed - EVERY_NANOS;
    boolean idle = now[0] - before[0] < late / 4;
    if (late > LATE_NANOS && idle && now[1] - before[1] < late / 2) {
      history.add(Figure.STOPPED, late);
    }
    before = now;
    beforeNanos = nanos;
  }

  private long[] look() {
    long[] v = new long[COUNTED.length];
    v[0] = system == null ? 0 : Math.max(0, system.getProcessCpuTime());
    for (GarbageCollectorMXBean c : collectors) {
      v[1] += Math.max(0, c.getCollectionTime()) * 1_000_000;
    }
    try {
      lookAtHost(v);
      lookAtProcess(v);
      lookAtNetwork(v);
    } catch (IOException | NumberFormatException e) {
      // Another system, or a sandbox: what it does not tell stays 0.
    }
    return v;
  }

  private static void lookAtHost(long[] v) throws IOException {
    // cpu user nice system idle iowait irq softirq steal guest guest_nice
    String[] f = SPACES.split(firstLine(STAT));
    long busy = 0;
    for (int i : new int[] {1, 2, 3, 6, 7}) {
      busy += Long.parseLong(f[i]);
    }
    v[2] = busy * TICK_NANOS;
    v[3] = f.length > 8 ? Long.parseLong(f[8]) * TICK_NANOS : 0;
  }

  private static void lookAtProcess(long[] v) throws IOException {
    String line = firstLine(OWN_STAT);
    // The name of the program may have spaces; it ends with the last parenthesis.
    String[] f = SPACES.split(line.substring(line.lastIndexOf(')') + 2));
    v[4] = f.length > 39 ? Long.parseLong(f[39]) * TICK_NANOS : 0;
    for (String l : Files.readAllLines(OWN_IO)) {
      if (l.startsWith("read_bytes:")) {
        v[5] = Long.parseLong(l.substring("read_bytes:".length()).strip());
      } else if (l.startsWith("write_bytes:")) {
        v[6] = Long.parseLong(l.substring("write_bytes:".length()).strip());
      }
    }
  }

  private static void lookAtNetwork(long[] v) throws IOException {
    List<String> tcp =
        Files.readAllLines(NETWORK).stream().filter(l -> l.startsWith("Tcp:")).toList();
    if (tcp.size() < 2) {
      return;
    }
    List<String> names = List.of(SPACES.split(tcp.getFirst()));
    String[] values = SPACES.split(tcp.get(1));
    v[7] = Long.parseLong(values[names.indexOf("OutSegs")]);
    v[8] = Long.parseLong(values[names.indexOf("RetransSegs")]);
  }

  private static String firstLine(Path file) throws IOException {
    return Files.readString(file).lines().findFirst().orElse("");
  }

  @Override
  public void close() {
    schedule.close();
  }
}
