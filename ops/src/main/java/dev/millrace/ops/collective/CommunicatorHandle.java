package dev.millrace.ops.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.steps.Phase;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.state.ResourceHandles;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A device's membership in a group, kept between steps: from version 3 on, collective ops name this
 * instead of the keys. Operations are told apart by counting them, so that all devices of a group
 * must run theirs in the same order.
 */
public final class CommunicatorHandle implements Resources.Resource {
  private static final String CONTAINER = "collective_op_group";
  private static final String KIND = "CollectiveGroupResource";

  public static final Op INITIALIZE =
      Op.define("CollectiveInitializeCommunicator")
          .input("group_key: int32")
          .input("rank: int32")
          .input("group_size: int32")
          .attr("communication_hint: string = 'auto'")
          .attr("timeout_seconds: float = 0")
          .output("communicator: resource")
          .stateful()
          .shape(Shapes.scalar())
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(initialize(node)))
          .noGradient("it is a handle")
          .build();

  public static final Op REDUCE =
      Op.define("CollectiveReduceV3")
          .attr(CollectiveReduce.T)
          .input("input: T")
          .input("communicator: resource")
          .input("group_assignment: int32")
          .output("data: T")
          .attr("reduction: {'Min', 'Max', 'Mul', 'Add'}")
          .attr("timeout_seconds: float = 0")
          .stateful()
          .shape(Shapes.like(0))
          .waitsIn(Phase.REDUCE)
          .asyncKernel(node -> Background.of(reduce(node)))
          .noGradient(GroupAttributes.AFTERWARDS)
          .build();

  static final List<Op> ALL = List.of(INITIALIZE, REDUCE);

  private final int groupKey;
  private final int groupSize;
  private final Duration timeout;
  private final AtomicInteger operations = new AtomicInteger();

  private CommunicatorHandle(int groupKey, int groupSize, Duration timeout) {
    this.groupKey = groupKey;
    this.groupSize = groupSize;
    this.timeout = timeout;
  }

  @Override
  public String kind() {
    return KIND;
  }

  private CollectiveExecutor.Part part(KernelContext c, String what, int instance, Duration limit) {
    return new CollectiveExecutor.Part(
        c.node().name() + ": " + what,
        c.node().device(),
        groupKey,
        groupSize,
        instance,
        true,
        c.frameAndIteration(),
        limit.isZero() ? timeout : limit);
  }

  private static Kernel initialize(Node node) {
    Duration timeout = GroupAttributes.timeout(node);
    return c -> {
      int key = GroupAttributes.scalar(c, 0, "group_key");
      int rank = GroupAttributes.scalar(c, 1, "rank");
      int size = GroupAttributes.size(c, 2);
      if (rank < 0 || rank >= size) {
        throw MillraceException.invalid(
            "rank must be at least 0 and less than group size but got %d of %d", rank, size);
      }
      String name = String.format(Locale.ROOT, "%d:r%04d", key, rank);
      CommunicatorHandle own = new CommunicatorHandle(key, size, timeout);
      if (c.resources().getOrCreate(CONTAINER, name, CommunicatorHandle.class, () -> own) != own) {
        throw new MillraceException(
            Code.ALREADY_EXISTS,
            "Resource " + CONTAINER + "/" + name + " exists: initialize a communicator once.");
      }
      try {
        CollectiveExecutor.Part part = own.part(c, "InitializeCommunicator", -1, timeout);
        GroupAttributes.run(c, part, new CollectiveExecutor.Join(), null);
      } catch (RuntimeException e) {
        c.resources().remove(CONTAINER, name);
        throw e;
      }
      Resources.Handle handle = new Resources.Handle(c.node().device(), CONTAINER, name, KIND);
      c.output(0, Refs.ofObjects(DType.RESOURCE, Shape.scalar(), new Object[] {handle}));
    };
  }

  private static Kernel reduce(Node node) {
    String reduction = node.stringAttr("reduction");
    Duration limit = GroupAttributes.timeout(node);
    CollectiveExecutor.Work work =
        new CollectiveExecutor.Reduce(CollectiveReduce.merge(reduction), false, List.of(0), -1);
    return c -> {
      if (c.input(2).elements() > 0) {
        throw new MillraceException(
            Code.UNIMPLEMENTED, "Group assignments are not supported yet: leave it empty.");
      }
      CommunicatorHandle group = ResourceHandles.resource(c, 1, CommunicatorHandle.class);
      String what = "ReduceV3(" + reduction + ")";
      CollectiveExecutor.Part part = group.part(c, what, group.operations.getAndIncrement(), limit);
      GroupAttributes.run(c, part, work, CollectiveReduce.ownCopy(c));
    };
  }
}
