package dev.millrace.runtime.device;

import dev.millrace.graph.Op;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.tensor.DeviceMemory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * A place where nodes run: its full name, its kind, its memory, its state, and an incarnation, a
 * number that no two starts of a process share, by which peers notice a restart.
 */
public final class Device {
  private final DeviceSpec spec;
  private final String name;
  private final long incarnation;
  private final Resources resources;

  /** Null if the device belongs to another process and this one does not know the kind. */
  private final DeviceKind kind;

  /** Null if the device belongs to another process. */
  private final DeviceMemory memory;

  private Device(
      DeviceSpec spec,
      long incarnation,
      Resources resources,
      DeviceKind kind,
      DeviceMemory memory) {
    this.kind = kind;
    this.memory = memory;
    this.spec = spec;
    this.name = spec.toString();
    this.incarnation = incarnation;
    this.resources = resources;
  }

  /**
   * The devices of a task of this process, with new incarnations and state that {@code store}
   * keeps.
   *
   * @param taskName such as {@code /job:ps/replica:0/task:0}
   * @param kinds the kind of each device; those of a kind are numbered from 0
   * @param random draws the incarnations
   */
  public static List<Device> ofTask(
      String taskName, List<DeviceKind> kinds, VariableStore store, RandomGenerator random) {
    List<Device> devices = new ArrayList<>();
    Map<String, Integer> counts = new HashMap<>();
    for (DeviceKind kind : kinds) {
      int index = counts.merge(kind.name(), 1, Integer::sum) - 1;
      String own = kind.name() + ":" + index;
      devices.add(
          new Device(
              parseFull(taskName + "/device:" + own),
              randomIncarnation(random),
              new Resources(store, own),
              kind,
              kind.open(index)));
    }
    return devices;
  }

  /** A device of another process, known by name and incarnation only. */
  public static Device remote(String fullName, long incarnation) {
    DeviceSpec spec = parseFull(fullName);
    DeviceKind known = spec.type().equals(DeviceKind.HOST.name()) ? DeviceKind.HOST : null;
    return new Device(spec, incarnation, null, known, null);
  }

  /**
   * This device under the same name with state of its own, for a session that wants isolation. That
   * state is in memory only: it ends with the session.
   */
  public Device isolated() {
    return new Device(spec, incarnation, new Resources(), kind, memory);
  }

  /** This device for a session that shares its state with others. */
  public Device inSession() {
    return new Device(spec, incarnation, resources.inSession(), kind, memory);
  }

  /** This device, its state included, as one of the task of that name. */
  public Device renamed(String taskName) {
    DeviceSpec t = DeviceSpec.parse(taskName);
    return new Device(
        new DeviceSpec(t.job(), t.replica(), t.task(), spec.type(), spec.index()),
        incarnation,
        resources,
        kind,
        memory);
  }

  private static DeviceSpec parseFull(String name) {
    DeviceSpec d = DeviceSpec.parse(name);
    if (!d.isFull()) {
      throw new IllegalArgumentException("'" + name + "' is not a full device name");
    }
    return d;
  }

  private static long randomIncarnation(RandomGenerator random) {
    long i;
    do {
      i = random.nextLong();
    } while (i == 0);
    return i;
  }

  /** Its full name, such as {@code /job:ps/replica:0/task:0/device:CPU:0}. */
  public String name() {
    return name;
  }

  /** Its name in parts. */
  public DeviceSpec spec() {
    return spec;
  }

  /** A number that is new with every start of its task. */
  public long incarnation() {
    return incarnation;
  }

  /** Whether it is a CPU with host memory. */
  public boolean isHost() {
    return kind == DeviceKind.HOST;
  }

  /** Whether nodes of this op can run here; true of devices whose kind is unknown here. */
  public boolean supports(Op op) {
    return kind == null || kind.supports(op);
  }

  /** Its kind, which has its kernels; only of a device of this process. */
  public DeviceKind kind() {
    return ofThisProcess(kind);
  }

  /** Its memory; only of a device of this process. */
  public DeviceMemory memory() {
    return ofThisProcess(memory);
  }

  private <T> T ofThisProcess(T value) {
    if (memory == null) {
      throw new IllegalStateException(name + " belongs to another process");
    }
    return value;
  }

  /** The variables, queues and other state; only of a device of this process. */
  public Resources resources() {
    return ofThisProcess(resources);
  }

  @Override
  public String toString() {
    return name;
  }
}
