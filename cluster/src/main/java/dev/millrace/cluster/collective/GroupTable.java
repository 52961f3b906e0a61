package dev.millrace.cluster.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.proto.CompleteGroupRequest;
import dev.millrace.proto.CompleteGroupResponse;
import dev.millrace.proto.CompleteInstanceRequest;
import dev.millrace.proto.CompleteInstanceResponse;
import dev.millrace.proto.DeviceAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the leader of a cluster's collectives knows: which devices belong to a group, and what the
 * operations of a group are. Devices join; the last one completes the group for all.
 *
 * <p>A device that joins again as another process, or whose task is lost, ends the group it was in:
 * the others find out when they next ask, and form it anew.
 *
 * <p>Threading: any thread; futures are completed outside the lock.
 */
final class GroupTable {
  private static final Logger LOG = LoggerFactory.getLogger(GroupTable.class);

  /** TensorFlow's number of the one kind of operation that has a source. */
  private static final int BROADCAST = 1;

  private final Duration patience;
  private final Timers timers;
  private final Map<Integer, Gathering> groups = new HashMap<>();

  /** A group and who waits for it; and once it is complete, its operations. */
  private static final class Gathering {
    final int size;
    final String deviceType;
    final Map<String, DeviceAttributes> devices = new LinkedHashMap<>();
    final List<CompletableFuture<CompleteGroupResponse>> waiting = new ArrayList<>();
    final Map<List<Long>, Instance> instances = new HashMap<>();

    Gathering(int size, String deviceType) {
      this.size = size;
      this.deviceType = deviceType;
    }

    boolean isComplete() {
      return devices.size() == size;
    }
  }

  /**
   * One operation of a group; only a broadcast waits for all to learn who the source is. What a
   * node does again in every step is kept: members tell it once, and a difference shows later. What
   * belongs to one step is forgotten when all have told it.
   */
  private static final class Instance {
    final CompleteInstanceRequest first;

    /** The devices that have told it, and whether they say that they are the source. */
    final Map<String, Boolean> isSource = new LinkedHashMap<>();

    final List<CompletableFuture<CompleteInstanceResponse>> waiting = new ArrayList<>();

    Instance(CompleteInstanceRequest first) {
      this.first = first;
    }
  }

  /** What to do to futures once the lock is given back. */
  private final class Afterwards {
    final List<Runnable> actions = new ArrayList<>();

    <T> void complete(List<CompletableFuture<T>> futures, T value) {
      List<CompletableFuture<T>> all = List.copyOf(futures);
      futures.clear();
      actions.add(() -> all.forEach(f -> f.complete(value)));
    }

    <T> void fail(List<CompletableFuture<T>> futures, MillraceException cause) {
      List<CompletableFuture<T>> all = List.copyOf(futures);
      futures.clear();
      actions.add(() -> all.forEach(f -> f.completeExceptionally(cause)));
    }

    void run() {
      actions.forEach(Runnable::run);
    }
  }

  /** A table that lets a device wait for the others of its group for {@code patience}. */
  GroupTable(Duration patience, Timers timers) {
    this.timers = timers;
    this.patience = patience;
  }

  /** Has a device join a group; the answer comes when the group is complete. */
  CompletableFuture<CompleteGroupResponse> join(CompleteGroupRequest r) {
    CompletableFuture<CompleteGroupResponse> answer = new CompletableFuture<>();
    Afterwards afterwards = new Afterwards();
    synchronized (this) {
      try {
        joinLocked(r, answer, afterwards);
      } catch (MillraceException e) {
        afterwards.fail(new ArrayList<>(List.of(answer)), e);
      }
    }
    afterwards.run();
    if (!answer.isDone()) {
      timers.later(patience.toNanos(), () -> giveUp(r.getGroupKey(), answer));
    }
    return answer;
  }

  private void joinLocked(
      CompleteGroupRequest r,
      CompletableFuture<CompleteGroupResponse> answer,
      Afterwards afterwards) {
    if (!r.hasDeviceAttributes()) {
      throw MillraceException.internal(
          "CompleteGroupRequest device_attributes is not set. Make sure you're running the same"
              + " version of Tensorflow on all workers.");
    }
    DeviceAttributes device = r.getDeviceAttributes();
    Gathering g = groups.get(r.getGroupKey());
    DeviceAttributes before = g == null ? null : g.devices.get(device.getName());
    if (before != null && before.getIncarnation() != device.getIncarnation()) {
      end(
          r.getGroupKey(),
          new MillraceException(
              Code.FAILED_PRECONDITION,
              device.getName()
                  + " was restarted; collective group "
                  + r.getGroupKey()
                  + " is formed anew."),
          afterwards);
      g = null;
    }
    if (g == null) {
      g = new Gathering(r.getGroupSize(), r.getDeviceType());
      groups.put(r.getGroupKey(), g);
    }
    check(r, device, g);
    g.devices.put(device.getName(), device);
    g.waiting.removeIf(CompletableFuture::isDone);
    g.waiting.add(answer);
    if (g.isComplete()) {
      afterwards.complete(g.waiting, response(r.getGroupKey(), g));
    } else {
      LOG.debug(
          "Group {}: {} of {} devices have joined.", r.getGroupKey(), g.devices.size(), g.size);
    }
  }

  private static void check(CompleteGroupRequest r, DeviceAttributes device, Gathering g) {
    if (!g.deviceType.equals(r.getDeviceType())) {
      throw MillraceException.internal(
          "Device %s of type %s is joining a group with incompatible device type %s"
              + " (group_key=%d)",
          device.getName(), r.getDeviceType(), g.deviceType, r.getGroupKey());
    }
    if (g.size != r.getGroupSize()) {
      throw MillraceException.internal(
          "Device %s is joining a group with size %d, but that group has size %d (group_key=%d)."
              + " It was begun by %s.",
          device.getName(),
          r.getGroupSize(),
          g.size,
          r.getGroupKey(),
          g.devices.keySet().stream().findFirst().orElse("nobody"));
    }
    if (g.isComplete() && !g.devices.containsKey(device.getName())) {
      throw MillraceException.internal(
          "Device %s is joining a group that is already full (group_key=%d): it has %s.",
          device.getName(), r.getGroupKey(), g.devices.keySet());
    }
  }

  private static CompleteGroupResponse response(int key, Gathering g) {
    return CompleteGroupResponse.newBuilder()
        .setGroupKey(key)
        .setGroupSize(g.size)
        .setDeviceType(g.deviceType)
        .setNumTasks(
            (int)
                g.devices.keySet().stream()
                    .map(d -> DeviceSpec.parse(d).taskName())
                    .distinct()
                    .count())
        .addAllDeviceAttributes(g.devices.values())
        .build();
  }

  private void giveUp(int groupKey, CompletableFuture<CompleteGroupResponse> answer) {
    String known;
    synchronized (this) {
      Gathering g = groups.get(groupKey);
      if (answer.isDone() || g == null || !g.waiting.remove(answer)) {
        return;
      }
      known =
          String.format(
              "only %d of %d devices have joined within %d s: %s. See the logs of the other tasks.",
              g.devices.size(), g.size, patience.toSeconds(), g.devices.keySet());
    }
    answer.completeExceptionally(
        new MillraceException(
            Code.DEADLINE_EXCEEDED, "Collective group " + groupKey + ": " + known));
  }

  /** Says what an operation of a group is; for a broadcast the answer comes when all have. */
  CompletableFuture<CompleteInstanceResponse> instance(CompleteInstanceRequest r) {
    CompletableFuture<CompleteInstanceResponse> answer = new CompletableFuture<>();
    Afterwards afterwards = new Afterwards();
    synchronized (this) {
      try {
        instanceLocked(r, answer, afterwards);
      } catch (MillraceException e) {
        afterwards.fail(new ArrayList<>(List.of(answer)), e);
      }
    }
    afterwards.run();
    return answer;
  }

  private void instanceLocked(
      CompleteInstanceRequest r,
      CompletableFuture<CompleteInstanceResponse> answer,
      Afterwards afterwards) {
    Gathering g = groups.get(r.getGroupKey());
    if (g == null || !g.isComplete()) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION,
          "group " + r.getGroupKey() + " not found. This normally means the server has restarted");
    }
    List<Long> key = List.of((long) r.getInstanceKey(), r.getStepId());
    Instance i = g.instances.computeIfAbsent(key, k -> new Instance(r));
    checkSame(i.first, r);
    i.isSource.put(r.getDevice(), r.getIsSource());
    if (r.getStepId() != 0 && i.isSource.size() == g.size) {
      g.instances.remove(key);
    }
    if (r.getType() != BROADCAST) {
      answer.complete(instanceResponse(r, -1));
      return;
    }
    i.waiting.removeIf(CompletableFuture::isDone);
    i.waiting.add(answer);
    if (i.isSource.size() < g.size) {
      return;
    }
    List<String> sources = i.isSource.keySet().stream().filter(i.isSource::get).toList();
    if (sources.size() == 1) {
      CollectiveGroup ranked = CollectiveGroup.of(r.getGroupKey(), List.copyOf(g.devices.values()));
      afterwards.complete(i.waiting, instanceResponse(r, ranked.rank(sources.getFirst())));
    } else {
      i.isSource.clear();
      afterwards.fail(
          i.waiting,
          MillraceException.internal(
              sources.isEmpty()
                  ? "Instance %d found no source for broadcast.  This could mean that there were"
                      + " group_size=%d BcastRecvs but no BcastSend."
                  : "Instance %d has more than one source among %d devices: " + sources + ".",
              r.getInstanceKey(),
              g.size));
    }
  }

  private static CompleteInstanceResponse instanceResponse(CompleteInstanceRequest r, int source) {
    return CompleteInstanceResponse.newBuilder()
        .setInstanceKey(r.getInstanceKey())
        .setSourceRank(source)
        .build();
  }

  private static void checkSame(CompleteInstanceRequest a, CompleteInstanceRequest b) {
    if (a.getType() != b.getType() || a.getDataType() != b.getDataType()) {
      throw MillraceException.internal(
          "Collective instance %d expected type %d and data_type %s ('%s' on %s) but got type %d"
              + " and data_type %s ('%s' on %s)",
          b.getInstanceKey(),
          a.getType(),
          a.getDataType(),
          a.getName(),
          a.getDevice(),
          b.getType(),
          b.getDataType(),
          b.getName(),
          b.getDevice());
    }
    if (!a.getShape().equals(b.getShape())) {
      throw MillraceException.invalid(
          "Shape mismatch in the collective instance %d. Op at device %s expected shape %s but"
              + " another member in the group, %s, expected shape %s.",
          b.getInstanceKey(), b.getDevice(), dims(b), a.getDevice(), dims(a));
    }
  }

  private static List<Long> dims(CompleteInstanceRequest r) {
    return r.getShape().getDimList().stream().map(d -> d.getSize()).toList();
  }

  /** How many operations are remembered. */
  synchronized int instanceCount() {
    return groups.values().stream().mapToInt(g -> g.instances.size()).sum();
  }

  /** A task is gone: the groups it had devices in end. */
  void lost(String task, MillraceException cause) {
    Afterwards afterwards = new Afterwards();
    synchronized (this) {
      for (int key : List.copyOf(groups.keySet())) {
        if (groups.get(key).devices.keySet().stream()
            .anyMatch(d -> DeviceSpec.parse(d).taskName().equals(task))) {
          end(key, cause, afterwards);
        }
      }
    }
    afterwards.run();
  }

  /** Ends everything: nobody waits any longer. */
  void close(MillraceException cause) {
    Afterwards afterwards = new Afterwards();
    synchronized (this) {
      List.copyOf(groups.keySet()).forEach(key -> end(key, cause, afterwards));
    }
    afterwards.run();
  }

  private void end(int key, MillraceException cause, Afterwards afterwards) {
    Gathering g = groups.remove(key);
    afterwards.fail(g.waiting, cause);
    g.instances.values().forEach(i -> afterwards.fail(i.waiting, cause));
  }
}
