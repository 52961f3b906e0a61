package dev.millrace.graph.resource;

import dev.millrace.base.Cancellation;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.List;

/**
 * Carries out operations that a group of devices, of this task and of others, do together: each
 * device of the group runs a node of its own, and the nodes find each other by their keys.
 *
 * <p>Threading: any thread.
 */
public interface CollectiveExecutor {
  /**
   * One device's part in one operation of a group.
   *
   * @param name of the node, for messages
   * @param device of the node, in full
   * @param groupKey names the group among all tasks
   * @param instanceKey names the operation within the group
   * @param once whether the key names this execution only, as by counting, and not all of a node
   * @param frame the loop frame and iteration, {@code 0:0} outside loops
   * @param timeout zero if the operation has none of its own
   */
  record Part(
      String name,
      String device,
      int groupKey,
      int groupSize,
      int instanceKey,
      boolean once,
      String frame,
      Duration timeout) {}

  /** What is done. */
  sealed interface Work {}

  /** How a reduction puts two values together. */
  enum Merge {
    ADD,
    MUL,
    MIN,
    MAX
  }

  /**
   * Every device's value becomes the reduction of all.
   *
   * @param divides whether the result is divided by the number of devices
   * @param rings how each task's devices are ordered in each of the rings the work is shared out
   *     to, as TensorFlow's {@code subdiv_offsets}; empty to have the size decide
   * @param ringsPerDevice at most, if the size decides; -1 for one ring
   */
  record Reduce(Merge merge, boolean divides, List<Integer> rings, int ringsPerDevice)
      implements Work {}

  /** Every device's value becomes all devices' {@code own}, in the order of their ranks. */
  record Gather(Tensor own) implements Work {}

  /**
   * Every device's value becomes its part of the reduction of all devices' {@code whole}, in which
   * every rank has a part, one after the other. {@code whole} is worked on in place.
   */
  record ReduceScatter(Reduce how, Tensor whole) implements Work {}

  /**
   * Row {@code i} of a device's {@code own} becomes row {@code r} of rank i's value, r its rank.
   */
  record AllToAll(Tensor own) implements Work {}

  /** Nothing but to wait until all devices of the group are there; there is no value. */
  record Join() implements Work {}

  /** Every device's value becomes that of the one source. */
  record Broadcast(boolean isSource) implements Work {}

  /**
   * Does one device's part and returns when its value is final and nobody needs it any more. May
   * take as long as the slowest device of the group; ends soon after {@code cancellation}.
   *
   * @param value this device's, worked on in place; the source of a broadcast is only read; null
   *     for {@link Join}
   */
  void run(Part part, Work work, Tensor value, Cancellation cancellation);
}
