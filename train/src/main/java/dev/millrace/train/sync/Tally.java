package dev.millrace.train.sync;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Fill;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.List;

/**
 * A number that several tasks count up: the length of a queue whose elements say nothing. Unlike a
 * variable it needs nobody to give it its first value, so a task may count whoever is the chief.
 */
record Tally(Output queue) {
  /** Adds the queue, shared under {@code name}. */
  static Tally of(Scope scope, String name) {
    return new Tally(
        scope
            .withName(name)
            .node("FIFOQueueV2")
            .attr("component_types", List.of(DType.INT32))
            .attr("shapes", List.of(Shape.scalar()))
            .attr("capacity", -1)
            .attr("shared_name", name)
            .add()
            .output());
  }

  /** Adds a node that counts one more. */
  Node add(Scope scope) {
    return QueueAccess.enqueue(scope, queue, List.of(Const.of(scope, 1)));
  }

  /** Adds a node that counts {@code n} more, a scalar. */
  Node add(Scope scope, Output n) {
    Output some = Fill.of(scope, Pack.of(scope, List.of(n)), Const.of(scope, 1));
    return QueueAccess.enqueueMany(scope, queue, List.of(some));
  }

  /** Adds a node that says how many there are. */
  Output count(Scope scope) {
    return QueueAccess.size(scope, queue);
  }

  /** Adds nodes that say how many there are and count from 0 again; for one task only. */
  Output take(Scope scope) {
    Output count = count(scope);
    Node taken = QueueAccess.dequeueMany(scope, queue, count, List.of(DType.INT32));
    return Identity.of(scope.withControlInputs(taken), count);
  }
}
