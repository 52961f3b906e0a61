package dev.millrace.cluster.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.proto.DeviceAttributes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The devices that do collective operations together, in the order of their ranks. A task's devices
 * are neighbours: tasks come in the order of their names as text, a task's devices by number. Every
 * task arrives at this order by itself.
 */
record CollectiveGroup(int key, List<Member> members) {
  /** A device of the group; the incarnation tells the process it was from a later one. */
  record Member(String device, long incarnation) {
    String task() {
      return DeviceSpec.parse(device).taskName();
    }
  }

  static CollectiveGroup of(int key, List<DeviceAttributes> devices) {
    return new CollectiveGroup(
        key,
        devices.stream()
            .sorted(
                Comparator.comparing((DeviceAttributes d) -> task(d))
                    .thenComparing(d -> DeviceSpec.parse(d.getName()).type())
                    .thenComparingInt(d -> DeviceSpec.parse(d.getName()).index()))
            .map(d -> new Member(d.getName(), d.getIncarnation()))
            .toList());
  }

  private static String task(DeviceAttributes d) {
    return DeviceSpec.parse(d.getName()).taskName();
  }

  int size() {
    return members.size();
  }

  /** The rank of a device. */
  int rank(String device) {
    for (int i = 0; i < members.size(); i++) {
      if (members.get(i).device().equals(device)) {
        return i;
      }
    }
    throw new MillraceException(
        Code.INTERNAL,
        "Device " + device + " is not in collective group " + key + ", which has " + members + ".");
  }

  /** How many devices each task has, in the order of the ranks. */
  List<Integer> devicesPerTask() {
    List<Integer> counts = new ArrayList<>();
    String last = null;
    for (Member m : members) {
      if (m.task().equals(last)) {
        counts.set(counts.size() - 1, counts.getLast() + 1);
      } else {
        counts.add(1);
        last = m.task();
      }
    }
    return counts;
  }
}
