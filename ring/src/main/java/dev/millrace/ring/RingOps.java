package dev.millrace.ring;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.base.steps.Phase;
import dev.millrace.collective.Ring;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.graph.AsyncKernel;
import dev.millrace.graph.Graph;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.StandardOps;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/**
 * A ring's operations as ops of a graph, under Horovod's names. They are asynchronous: a node
 * submits its input as soon as that is computed and the step goes on with what does not depend on
 * the result, so gradients are reduced while the backward pass still runs. Ranks' nodes find each
 * other by name; all ranks must build the same graph.
 */
public final class RingOps {
  /** Horovod's numbers of the reductions; what it has at 2 is not offered. */
  private static final List<ReduceOp> REDUCTIONS =
      java.util.Arrays.asList(
          ReduceOp.AVERAGE, ReduceOp.SUM, null, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT);

  private final Ring ring;

  /** By name, as far as their nodes have been prepared to run. */
  private final Map<String, NodeSequence> sequences = new ConcurrentHashMap<>();

  private RingOps(Ring ring) {
    this.ring = ring;
  }

  /** The standard ops and those of this ring. */
  public static OpRegistry registry(Ring ring) {
    RingOps ops = new RingOps(ring);
    return StandardOps.registry()
        .with(List.of(ops.allReduce(), ops.inSequence(), ops.allGather(), ops.broadcast()));
  }

  /** An empty graph of these ops. */
  public static Graph newGraph(Ring ring) {
    return new Graph(registry(ring));
  }

  /** Adds the reduction of all ranks' {@code x}. */
  public static Output allReduce(Scope scope, Output x, ReduceOp op) {
    return scope
        .node("HorovodAllreduce")
        .input(x)
        .attr("reduce_op", REDUCTIONS.indexOf(op))
        .add()
        .output();
  }

  /**
   * Adds the reduction of all ranks' {@code x} as number {@code index} of {@code count} nodes that
   * all run in every step, in this order; see {@link dev.millrace.collective.ReductionSequence}.
   * Type and reduction are the same for all of them, and shapes are known.
   */
  static Output reduceInSequence(
      Scope scope, Output x, ReduceOp op, String sequence, int index, int count) {
    return scope
        .node("MillraceReduceInSequence")
        .input(x)
        .attr("reduce_op", REDUCTIONS.indexOf(op))
        .attr("sequence", sequence)
        .attr("index", index)
        .attr("count", count)
        .add()
        .output();
  }

  /** Adds all ranks' {@code x}, one after the other along the first dimension. */
  public static Output allGather(Scope scope, Output x) {
    return scope.node("HorovodAllgather").input(x).add().output();
  }

  /** Adds rank {@code root}'s {@code x}. */
  public static Output broadcast(Scope scope, Output x, int root) {
    return scope.node("HorovodBroadcast").input(x).attr("root_rank", root).add().output();
  }

  private static Op.Builder define(String name, String input) {
    return Op.define(name)
        .attr("T: type")
        .input(input)
        .attr("ignore_name_scope: bool = false")
        .attr("process_set_id: int = 0")
        .stateful()
        .noGradient("gradients pass between ranks after they are computed");
  }

  private Op allReduce() {
    return define("HorovodAllreduce", "tensor: T")
        .output("sum: T")
        .attr("reduce_op: int = 1")
        .attr("prescale_factor: float = 1.0")
        .attr("postscale_factor: float = 1.0")
        .shape(Shapes.like(0))
        .waitsIn(Phase.REDUCE)
        .asyncKernel(
            node -> {
              ReduceOp op = reduction(node);
              return kernel(node, x -> ring.allReduceAsync(node.name(), x, op));
            })
        .build();
  }

  private Op inSequence() {
    return define("MillraceReduceInSequence", "tensor: T")
        .output("reduced: T")
        .attr("reduce_op: int")
        .attr("sequence: string")
        .attr("index: int")
        .attr("count: int")
        .shape(Shapes.like(0))
        .waitsIn(Phase.REDUCE)
        .asyncKernel(
            node -> {
              NodeSequence s =
                  sequences.computeIfAbsent(
                      node.stringAttr("sequence"), n -> new NodeSequence(ring, n));
              s.add(node, REDUCTIONS.get(node.intAttr("reduce_op")));
              requireAllRanks(node);
              return new InSequence(s, node.intAttr("index"));
            })
        .build();
  }

  private Op allGather() {
    return define("HorovodAllgather", "tensor: T")
        .output("output: T")
        .shape(
            c -> {
              Shape s = c.input(0);
              return List.of(s.hasRank() && s.rank() > 0 ? s.withDim(0, Shape.UNKNOWN) : s);
            })
        .waitsIn(Phase.REDUCE)
        .asyncKernel(node -> kernel(node, x -> ring.allGatherAsync(node.name(), x)))
        .build();
  }

  private Op broadcast() {
    return define("HorovodBroadcast", "tensor: T")
        .output("output: T")
        .attr("root_rank: int")
        .shape(Shapes.like(0))
        .waitsIn(Phase.REDUCE)
        .asyncKernel(
            node -> {
              int root = node.intAttr("root_rank");
              return kernel(node, x -> ring.broadcastAsync(node.name(), x, root));
            })
        .build();
  }

  /** The reduction a node asks for; Horovod averages by a sum and a factor. */
  private ReduceOp reduction(Node node) {
    int number = node.intAttr("reduce_op");
    ReduceOp op = number >= 0 && number < REDUCTIONS.size() ? REDUCTIONS.get(number) : null;
    float factor = node.floatAttr("prescale_factor") * node.floatAttr("postscale_factor");
    if (op == ReduceOp.SUM && Math.abs(factor * ring.size() - 1) < 1e-6) {
      return ReduceOp.AVERAGE;
    }
    if (op == null || factor != 1) {
      throw MillraceException.invalid(
          "HorovodAllreduce '%s': reduce_op %d with factors that make %s is not offered. There are"
              + " average (0), sum (1), min (3), max (4) and product (5); multiply by other factors"
              + " before or after.",
          node.name(), number, factor);
    }
    return op;
  }

  private static AsyncKernel kernel(
      Node node, Function<Tensor, CompletableFuture<Tensor>> operation) {
    requireAllRanks(node);
    return (c, done) -> new Execution(c, done).run(operation);
  }

  private static void requireAllRanks(Node node) {
    if (node.longAttr("process_set_id") != 0) {
      throw MillraceException.invalid(
          "%s '%s': process sets other than 0, all ranks, are not offered in graphs.",
          node.op().name(), node.name());
    }
  }

  /** Reduces its input where it lies if nobody else reads it, and offers room for that. */
  private record InSequence(NodeSequence sequence, int index) implements AsyncKernel {
    @Override
    public void start(KernelContext c, Runnable done) {
      boolean last = c.reusable(0) != null;
      new Execution(c, done).run(x -> sequence.get().reduceAsync(index, x, last));
    }

    @Override
    public Tensor room(DType dtype, Shape shape) {
      return sequence.room(shape);
    }
  }

  /**
   * One execution of a node. It ends with its operation or, if that is sooner, with its step; the
   * operation then goes on without it, for the sake of the other ranks.
   */
  private static final class Execution {
    private final KernelContext context;
    private final Runnable done;
    private final AtomicBoolean ended = new AtomicBoolean();

    Execution(KernelContext context, Runnable done) {
      this.context = context;
      this.done = done;
    }

    void run(Function<Tensor, CompletableFuture<Tensor>> operation) {
      CompletableFuture<Tensor> future = operation.apply(context.input(0));
      Cancellation step = context.cancellation();
      Cancellation.Registration onCancel = step.onCancel(() -> end(null, step.cause()));
      future.whenComplete(
          (result, failure) -> {
            onCancel.close();
            end(result, failure);
          });
    }

    private void end(Tensor result, Throwable failure) {
      if (!ended.compareAndSet(false, true)) {
        if (result != null) {
          result.close();
        }
        return;
      }
      if (failure != null) {
        context.fail(MillraceException.of(failure));
      } else {
        context.output(0, result);
        result.close();
      }
      done.run();
    }
  }
}
