package dev.millrace.graph.name;

import dev.millrace.base.MillraceException;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A device name, whole or partial: {@code /job:ps/replica:0/task:1/device:CPU:0}. Parts that are
 * absent or {@code *} leave the choice open. Null and -1 stand for an open part.
 */
public record DeviceSpec(String job, int replica, int task, String type, int index) {
  private static final Pattern PART =
      Pattern.compile(
          "/(?:job:(?<job>[A-Za-z][A-Za-z0-9_]*|\\*)"
              + "|replica:(?<replica>[0-9]+|\\*)"
              + "|task:(?<task>[0-9]+|\\*)"
              + "|device:(?<type>[A-Za-z][A-Za-z0-9_]*|\\*)(?::(?<index>[0-9]+|\\*))?"
              + "|(?<legacy>cpu|CPU|gpu|GPU):(?<legacyIndex>[0-9]+|\\*))");

  /** The spec that leaves everything open. */
  public static final DeviceSpec ANY = new DeviceSpec(null, -1, -1, null, -1);

  /** Parses TensorFlow's grammar, parts in any order; throws on anything else. */
  public static DeviceSpec parse(String name) {
    if (name.isEmpty() || name.equals("/")) {
      return ANY;
    }
    DeviceSpec d = ANY;
    Matcher m = PART.matcher(name);
    int at = 0;
    while (at < name.length()) {
      if (!m.find(at) || m.start() != at) {
        throw MillraceException.invalid(
            "Malformed device specification '%s' (from character %d). It should look like"
                + " /job:ps/replica:0/task:1/device:CPU:0, parts may be left out.",
            name, at);
      }
      if (m.group("job") != null) {
        d = new DeviceSpec(text(m.group("job")), d.replica, d.task, d.type, d.index);
      } else if (m.group("replica") != null) {
        d = new DeviceSpec(d.job, number(m.group("replica")), d.task, d.type, d.index);
      } else if (m.group("task") != null) {
        d = new DeviceSpec(d.job, d.replica, number(m.group("task")), d.type, d.index);
      } else if (m.group("type") != null) {
        int index = m.group("index") == null ? -1 : number(m.group("index"));
        d = new DeviceSpec(d.job, d.replica, d.task, text(m.group("type")), index);
      } else {
        String type = m.group("legacy").toUpperCase(java.util.Locale.ROOT);
        d = new DeviceSpec(d.job, d.replica, d.task, type, number(m.group("legacyIndex")));
      }
      at = m.end();
    }
    return d;
  }

  private static String text(String s) {
    return s.equals("*") ? null : s;
  }

  private static int number(String s) {
    try {
      return s.equals("*") ? -1 : Integer.parseInt(s);
    } catch (NumberFormatException e) {
      throw MillraceException.invalid("Number %s in a device specification is too large.", s);
    }
  }

  /** Whether every part is set. */
  public boolean isFull() {
    return job != null && replica >= 0 && task >= 0 && type != null && index >= 0;
  }

  /** Whether {@code device}, a full name, is one this spec allows. */
  public boolean matches(DeviceSpec device) {
    return (job == null || job.equals(device.job))
        && (replica < 0 || replica == device.replica)
        && (task < 0 || task == device.task)
        && (type == null || type.equals(device.type))
        && (index < 0 || index == device.index);
  }

  /** Whether some device could match both. */
  public boolean intersects(DeviceSpec o) {
    return (job == null || o.job == null || job.equals(o.job))
        && (replica < 0 || o.replica < 0 || replica == o.replica)
        && (task < 0 || o.task < 0 || task == o.task)
        && (type == null || o.type == null || type.equals(o.type))
        && (index < 0 || o.index < 0 || index == o.index);
  }

  /** This spec with its open parts filled from {@code outer}, as nested device scopes do. */
  public DeviceSpec over(DeviceSpec outer) {
    return new DeviceSpec(
        job != null ? job : outer.job,
        replica >= 0 ? replica : outer.replica,
        task >= 0 ? task : outer.task,
        type != null ? type : outer.type,
        index >= 0 ? index : outer.index);
  }

  /**
   * What both demand, or null if they contradict. With {@code soft} a contradiction in type or
   * index opens those parts instead.
   */
  public DeviceSpec intersect(DeviceSpec o, boolean soft) {
    if (intersects(o)) {
      return over(o);
    }
    if (!soft) {
      return null;
    }
    DeviceSpec a = sameType(o) ? withoutIndex() : withoutDevice();
    DeviceSpec b = sameType(o) ? o.withoutIndex() : o.withoutDevice();
    return a.intersects(b) ? a.over(b) : null;
  }

  private boolean sameType(DeviceSpec o) {
    return type == null || o.type == null || Objects.equals(type, o.type);
  }

  /** The task alone. */
  public DeviceSpec withoutDevice() {
    return new DeviceSpec(job, replica, task, null, -1);
  }

  private DeviceSpec withoutIndex() {
    return new DeviceSpec(job, replica, task, type, -1);
  }

  /** The task part: {@code /job:ps/replica:0/task:1}. */
  public String taskName() {
    return withoutDevice().toString();
  }

  /** TensorFlow's canonical form. */
  @Override
  public String toString() {
    StringBuilder s = new StringBuilder();
    if (job != null) {
      s.append("/job:").append(job);
    }
    if (replica >= 0) {
      s.append("/replica:").append(replica);
    }
    if (task >= 0) {
      s.append("/task:").append(task);
    }
    if (type != null || index >= 0) {
      s.append("/device:").append(type == null ? "*" : type).append(':');
      s.append(index < 0 ? "*" : Integer.toString(index));
    }
    return s.toString();
  }
}
