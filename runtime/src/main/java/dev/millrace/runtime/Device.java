package dev.millrace.runtime;

import dev.millrace.graph.DeviceSpec;
import dev.millrace.graph.op.Resources;
import java.security.SecureRandom;

/**
 * A place where nodes run: its full name, its state, and an incarnation, a number that no two
 * starts of a process share, by which peers notice a restart.
 */
public final class Device {
  private static final SecureRandom RANDOM = new SecureRandom();

  private final DeviceSpec spec;
  private final String name;
  private final long incarnation;
  private final Resources resources;

  private Device(DeviceSpec spec, long incarnation, Resources resources) {
    this.spec = spec;
    this.name = spec.toString();
    this.incarnation = incarnation;
    this.resources = resources;
  }

  /** A device of this process, with a new incarnation and no state. */
  public static Device local(String fullName) {
    return new Device(parseFull(fullName), randomIncarnation(), new Resources());
  }

  /** A device of another process, known by name and incarnation only. */
  public static Device remote(String fullName, long incarnation) {
    return new Device(parseFull(fullName), incarnation, null);
  }

  /** This device under the same name with state of its own, for a session that wants isolation. */
  public Device isolated() {
    return new Device(spec, incarnation, new Resources());
  }

  /** This device for a session that shares its state with others. */
  public Device inSession() {
    return new Device(spec, incarnation, resources.inSession());
  }

  /** This device, its state included, as one of the task of that name. */
  public Device renamed(String taskName) {
    DeviceSpec t = DeviceSpec.parse(taskName);
    return new Device(
        new DeviceSpec(t.job(), t.replica(), t.task(), spec.type(), spec.index()),
        incarnation,
        resources);
  }

  private static DeviceSpec parseFull(String name) {
    DeviceSpec d = DeviceSpec.parse(name);
    if (!d.isFull()) {
      throw new IllegalArgumentException("'" + name + "' is not a full device name");
    }
    return d;
  }

  private static long randomIncarnation() {
    long i;
    do {
      i = RANDOM.nextLong();
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

  /** The variables, queues and other state; only of a device of this process. */
  public Resources resources() {
    if (resources == null) {
      throw new IllegalStateException(name + " belongs to another process");
    }
    return resources;
  }

  @Override
  public String toString() {
    return name;
  }
}
