package dev.millrace.cluster.collective;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.cluster.peer.WorkerPeers;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.proto.CompleteGroupRequest;
import dev.millrace.proto.CompleteGroupResponse;
import dev.millrace.proto.CompleteInstanceRequest;
import dev.millrace.proto.CompleteInstanceResponse;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.GetStepSequenceRequest;
import dev.millrace.proto.GetStepSequenceResponse;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * A task's part in collectives: it finds out from the leader who belongs to a group, remembers it,
 * and does its devices' share of the work. If it is the leader itself, it also brings the others
 * together.
 *
 * <p>Threading: any thread.
 */
public final class TaskCollectives {
  private final String leader;
  private final WorkerPeers peers;
  private final Function<String, DeviceAttributes> attributes;
  private final Platform platform;
  private final GroupTable table;
  private final StepSequences steps;
  private final Map<Integer, CollectiveGroup> groups = new ConcurrentHashMap<>();
  private final Map<InstanceId, Instance> instances = new ConcurrentHashMap<>();

  private record InstanceId(int groupKey, int instanceKey) {}

  /** What the leader was told of an operation, and the source it named. */
  private record Instance(CompleteInstanceRequest told, int sourceRank) {}

  /**
   * The part of the task called {@code task}.
   *
   * @param leader the name of the task that brings groups together
   * @param attributes what is known of this task's device of a name
   */
  public TaskCollectives(
      String task,
      String leader,
      WorkerPeers peers,
      Function<String, DeviceAttributes> attributes,
      Platform platform) {
    this.platform = platform;
    this.table = new GroupTable(CollectiveDeadline.usual(), platform.timers());
    this.leader = leader;
    this.peers = peers;
    this.attributes = attributes;
    this.steps = new StepSequences(task.equals(leader), this::askForStepId, platform);
  }

  /** The ids of steps with collectives. */
  public StepSequences steps() {
    return steps;
  }

  /** This step's collectives on this task, with its pieces in {@code buffers}. */
  public CollectiveExecutor of(long stepId, Buffers buffers) {
    return (part, work, value, cancellation) ->
        run(stepId, buffers, part, work, value, cancellation);
  }

  private void run(
      long stepId,
      Buffers buffers,
      CollectiveExecutor.Part part,
      CollectiveExecutor.Work work,
      Tensor value,
      Cancellation cancellation) {
    CollectiveDeadline patience =
        new CollectiveDeadline(
            part.name() + " on " + part.device(), part.timeout(), platform.timers());
    try {
      CollectiveGroup group = group(part, work, patience, cancellation);
      if (work instanceof CollectiveExecutor.Join) {
        return;
      }
      int source = source(stepId, part, work, value, patience, cancellation);
      try (BufferExchange exchange =
          new BufferExchange(stepId, part, group, buffers, peers, patience, cancellation)) {
        switch (work) {
          case CollectiveExecutor.Reduce r ->
              new Rings(exchange, Rings.offsets(r, group, value.byteSize())).reduce(value, r);
          case CollectiveExecutor.Gather g ->
              new Rings(exchange, List.of(0)).gather(value, g.own());
          case CollectiveExecutor.Broadcast b -> new Tree(exchange, source).broadcast(value);
          case CollectiveExecutor.AllToAll a -> new AllToAll(exchange).run(value, a.own());
          case CollectiveExecutor.ReduceScatter r -> {
            new Rings(exchange, Rings.offsets(r.how(), group, r.whole().byteSize()))
                .reduce(r.whole(), r.how());
            long bytes = value.byteSize();
            MemorySegment.copy(r.whole().data(), exchange.rank() * bytes, value.data(), 0, bytes);
          }
          case CollectiveExecutor.Join j -> throw new IllegalStateException("it has been done");
        }
      }
    } catch (MillraceException e) {
      // A member may have been restarted: have the leader say next time who belongs to the group.
      forget(part.groupKey());
      throw e;
    }
  }

  private void forget(int groupKey) {
    groups.remove(groupKey);
    instances.keySet().removeIf(i -> i.groupKey() == groupKey);
  }

  /** TensorFlow's number of a kind of operation. */
  private static int type(CollectiveExecutor.Work work) {
    return switch (work) {
      case CollectiveExecutor.Reduce r -> 0;
      case CollectiveExecutor.Broadcast b -> 1;
      case CollectiveExecutor.Gather g -> 2;
      case CollectiveExecutor.AllToAll a -> 4;
      case CollectiveExecutor.ReduceScatter r -> 5;
      case CollectiveExecutor.Join j -> 0;
    };
  }

  private CollectiveGroup group(
      CollectiveExecutor.Part part,
      CollectiveExecutor.Work work,
      CollectiveDeadline patience,
      Cancellation cancellation) {
    CollectiveGroup known = groups.get(part.groupKey());
    if (known != null && known.size() == part.groupSize()) {
      known.rank(part.device());
      return known;
    }
    CompleteGroupRequest request =
        CompleteGroupRequest.newBuilder()
            .setGroupKey(part.groupKey())
            .setGroupSize(part.groupSize())
            .setDeviceType(DeviceSpec.parse(part.device()).type())
            .setCollectiveType(type(work))
            .setDeviceAttributes(attributes.apply(part.device()))
            .build();
    CompleteGroupResponse answer =
        patience.await(
            peers.peer(leader).completeGroup(request, patience.callLimit(), cancellation),
            "the other devices of group " + part.groupKey() + ", which " + leader + " gathers");
    if (answer.getDeviceAttributesCount() != part.groupSize()) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION,
          String.format(
              "%s says that group %d has the devices %s; %s has group_size %d. TensorFlow 1 does"
                  + " not tell devices; the leader must be TensorFlow 2 or Millrace.",
              leader,
              part.groupKey(),
              answer.getDeviceAttributesList().stream().map(DeviceAttributes::getName).toList(),
              part.name(),
              part.groupSize()));
    }
    CollectiveGroup group = CollectiveGroup.of(part.groupKey(), answer.getDeviceAttributesList());
    groups.put(part.groupKey(), group);
    return group;
  }

  /**
   * Tells the leader what is done, so that differences show; gives the source of a broadcast. What
   * is done only once is told with the step, and the leader forgets it when all have told it.
   */
  private int source(
      long stepId,
      CollectiveExecutor.Part part,
      CollectiveExecutor.Work work,
      Tensor value,
      CollectiveDeadline patience,
      Cancellation cancellation) {
    CompleteInstanceRequest.Builder request =
        CompleteInstanceRequest.newBuilder()
            .setName(part.name())
            .setType(type(work))
            .setDataTypeValue(value.dtype().number())
            .setShape(TensorCodec.encode(value.shape()))
            .setGroupKey(part.groupKey())
            .setGroupSize(part.groupSize())
            .setInstanceKey(part.instanceKey())
            .setDeviceType(DeviceSpec.parse(part.device()).type())
            .setDevice(part.device())
            .setStepId(part.once() ? stepId : 0);
    switch (work) {
      case CollectiveExecutor.Reduce r -> request.addAllSubdivOffset(r.rings());
      case CollectiveExecutor.Broadcast b -> request.addSubdivOffset(0).setIsSource(b.isSource());
      default -> {}
    }
    CompleteInstanceRequest told = request.build();
    InstanceId id = new InstanceId(part.groupKey(), part.instanceKey());
    Instance known = instances.get(id);
    if (known != null && known.told().equals(told)) {
      return known.sourceRank();
    }
    CompleteInstanceResponse answer =
        patience.await(
            peers.peer(leader).completeInstance(told, patience.callLimit(), cancellation),
            leader + " to name the source of instance " + part.instanceKey());
    if (!part.once()) {
      instances.put(id, new Instance(told, answer.getSourceRank()));
    }
    return answer.getSourceRank();
  }

  private long askForStepId(long graphKey) {
    CollectiveDeadline patience =
        new CollectiveDeadline("A step with collectives", Duration.ZERO, platform.timers());
    GetStepSequenceResponse answer =
        patience.await(
            peers
                .peer(leader)
                .stepSequence(
                    GetStepSequenceRequest.newBuilder().addGraphKey(graphKey).build(),
                    patience.callLimit()),
            "its id from " + leader);
    if (answer.getStepSequenceCount() != 1) {
      throw MillraceException.internal(
          "%s named %d step ids instead of one.", leader, answer.getStepSequenceCount());
    }
    return answer.getStepSequence(0).getNextStepId();
  }

  // ---- as the leader ----

  /** Has a device of some task join a group. */
  public CompletableFuture<CompleteGroupResponse> join(CompleteGroupRequest r) {
    return table.join(r);
  }

  /** Has a device of some task say what it does in a group. */
  public CompletableFuture<CompleteInstanceResponse> instance(CompleteInstanceRequest r) {
    return table.instance(r);
  }

  /** Names the next ids of steps with collectives. */
  public GetStepSequenceResponse answer(GetStepSequenceRequest r) {
    return steps.answer(r);
  }

  /** Another task is gone, and with it the groups it belonged to. */
  public void lost(String task, MillraceException cause) {
    table.lost(task, cause);
    for (CollectiveGroup g : List.copyOf(groups.values())) {
      if (g.members().stream().anyMatch(m -> m.task().equals(task))) {
        forget(g.key());
      }
    }
  }

  /** As the leader and as a member: how many operations of groups are remembered. */
  public int instanceCount() {
    return instances.size() + table.instanceCount();
  }

  /** Whoever waits for a group fails. */
  public void close(MillraceException cause) {
    table.close(cause);
  }
}
