package dev.millrace.train.sync;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Fill;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.variable.GraphVariable;
import java.util.List;

/**
 * The queue of tokens beside the global step: each is the step with which a worker that takes it
 * may go on.
 */
record TokenQueue(Scope scope, GraphVariable globalStep, Generation generation, Output queue) {
  private static final String NAME = "sync_token_q";

  /**
   * A token under way to a worker.
   *
   * @param step the step to go on with
   * @param report what {@link TokenReport} is made of
   */
  record Taken(Output step, Output report) {}

  /** Adds the queue, shared under TensorFlow's name, on the device of {@code scope}. */
  static TokenQueue of(Scope scope, GraphVariable globalStep, Generation generation) {
    Output queue =
        scope
            .withName(NAME)
            .node("FIFOQueueV2")
            .attr("component_types", List.of(globalStep.dtype()))
            .attr("shapes", List.of(Shape.scalar()))
            .attr("capacity", -1)
            .attr("shared_name", NAME)
            .add()
            .output();
    return new TokenQueue(scope, globalStep, generation, queue);
  }

  /** Adds nodes that wait for a token. */
  Taken take(Scope s) {
    Output token = dequeue(s).output(0);
    token.refineShape(Shape.scalar());
    return new Taken(token, report(s.withControlInputs(token.node()), Pack.of(s, List.of(token))));
  }

  private Node dequeue(Scope s) {
    return QueueAccess.dequeue(s.withName(NAME + "_Dequeue"), queue, List.of(globalStep.dtype()));
  }

  /**
   * Adds nodes that wait for {@code n} tokens, 1 or 0, and go on with the step that the others are
   * at then.
   */
  Taken take(Scope s, Output n) {
    Node dequeued =
        QueueAccess.dequeueMany(
            s.withName(NAME + "_Dequeue"), queue, n, List.of(globalStep.dtype()));
    Scope after = s.withControlInputs(dequeued);
    Output now = now(after, globalStep);
    Output all = Concat.of(s, List.of(dequeued.output(0), Pack.of(s, List.of(now))), 0);
    Output latest = Reduction.max(s, all, 0);
    latest.refineShape(Shape.scalar());
    return new Taken(latest, report(after, dequeued.output(0)));
  }

  /** The global step, the generation, and the tokens taken, as they are once they are taken. */
  private Output report(Scope after, Output tokens) {
    Output now = Pack.of(after, List.of(now(after, globalStep)));
    return Concat.of(
        after, List.of(asLong(after, now), generation.read(after), asLong(after, tokens)), 0);
  }

  private static Output asLong(Scope s, Output value) {
    return value.dtype() == DType.INT64 ? value : Cast.of(s, value, DType.INT64);
  }

  /** Adds nodes that hand out so many tokens, a vector of one element, of {@code step}. */
  Node handOut(Scope s, Output step, Output count) {
    return QueueAccess.enqueueMany(
        s.withName(NAME + "_EnqueueMany"), queue, List.of(Fill.of(s, count, step)));
  }

  /** A place for a token that goes back into the queue. */
  Output returned(Scope s) {
    return Placeholder.of(s.withName("returned"), DType.INT64, Shape.scalar());
  }

  /** Adds a node that puts a token, an int64, into the queue again. */
  Node giveBack(Scope s, Output token) {
    Output typed =
        globalStep.dtype() == DType.INT64 ? token : Cast.of(s, token, globalStep.dtype());
    return QueueAccess.enqueue(s, queue, List.of(typed));
  }

  /** Adds a node that closes the queue: nobody waits any more. */
  Node close() {
    return QueueAccess.close(scope.withName(NAME + "_Close"), queue, true);
  }

  /** The global step when this is run, rather than at the beginning of the step. */
  static Output now(Scope s, GraphVariable globalStep) {
    Scope beside = s.colocatedWith(globalStep.node());
    return globalStep.isResource()
        ? beside
            .node("ReadVariableOp")
            .input(globalStep.handle())
            .attr("dtype", globalStep.dtype())
            .add()
            .output()
        : Identity.of(beside, globalStep.handle());
  }
}
