package dev.millrace.train.sync;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Fill;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.NoOp;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.ops.state.AssignAdd;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GraphKeys;
import dev.millrace.train.Group;
import dev.millrace.train.optimizer.GradientAndVariable;
import dev.millrace.train.optimizer.Minimizer;
import dev.millrace.train.optimizer.Optimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has several workers make each step together, as one with the sum of their batches would: every
 * worker adds its gradients to accumulators on the parameter servers, the chief applies the average
 * once enough have come and hands out tokens, and a worker goes on when it gets one. Gradients that
 * come after the average was taken are dropped; with more workers than are waited for, the slowest
 * are spares.
 *
 * <p>Accumulators, token queue and local step are TensorFlow's by name and kind, so its workers can
 * take part, and either side can be the chief. One thing is added: a worker that leaves says so in
 * a variable, and the chief then waits for fewer.
 *
 * <p>The train op of {@link #applyGradients} needs the {@link #hook} of this task.
 */
public final class SyncReplicasOptimizer implements Minimizer {
  private static final Logger LOG = LoggerFactory.getLogger(SyncReplicasOptimizer.class);

  private final Optimizer optimizer;
  private final int replicasToAggregate;
  private final int totalReplicas;
  private SyncNodes nodes;

  /** Waits for all of {@code replicas} workers. */
  public SyncReplicasOptimizer(Optimizer optimizer, int replicas) {
    this(optimizer, replicas, replicas);
  }

  /**
   * Waits for the first {@code replicasToAggregate} gradients of {@code totalReplicas} workers,
   * which may be more, the others being spares, or fewer, each then contributing several times.
   */
  public SyncReplicasOptimizer(Optimizer optimizer, int replicasToAggregate, int totalReplicas) {
    if (replicasToAggregate < 1 || totalReplicas < 1) {
      throw MillraceException.invalid(
          "%d gradients of %d workers cannot be averaged; need at least 1 of each.",
          replicasToAggregate, totalReplicas);
    }
    this.optimizer = optimizer;
    this.replicasToAggregate = replicasToAggregate;
    this.totalReplicas = totalReplicas;
    LOG.info(
        "SyncReplicasV2: replicas_to_aggregate={}; total_num_replicas={}",
        replicasToAggregate,
        totalReplicas);
  }

  @Override
  public List<GradientAndVariable> computeGradients(
      Scope scope, Output loss, List<GraphVariable> variables) {
    return optimizer.computeGradients(scope, loss, variables);
  }

  /** The state the optimizer keeps per variable. */
  public Optimizer optimizer() {
    return optimizer;
  }

  @Override
  public Node applyGradients(
      Scope scope, List<GradientAndVariable> pairs, GraphVariable globalStep) {
    if (globalStep == null) {
      throw MillraceException.invalid(
          "Synchronous training needs the global step: gradients are matched by it.");
    }
    if (nodes != null) {
      throw MillraceException.invalid("A SyncReplicasOptimizer serves one model; make another.");
    }
    Node anchor = NoOp.group(scope, List.of());
    GraphVariable localStep =
        VariableScope.of(scope.colocatedWith(anchor))
            .withCollection(GraphKeys.LOCAL_VARIABLES)
            .withTrainable(false)
            .startingWith("sync_rep_local_step", Tensor.scalar(0L));
    Scope beside = scope.colocatedWith(localStep.node());
    Node localInit = localStep.assign(beside, globalStep.read());
    Scope own = scope.withSubScope("sync_replicas");
    Scope onStep = scope.withDevice(globalStep.node().device());
    Output left =
        VariableV2.of(
            onStep.reopened(own.prefix()).withName("left_replicas"), DType.INT32, Shape.scalar());
    Output required = required(onStep.reopened(own.prefix()), left);
    Output stale = stale(onStep.reopened(own.prefix()), localStep, globalStep);
    List<GradientAndVariable> taken = new ArrayList<>();
    List<Accumulator> accumulators = new ArrayList<>();
    List<Node> applied = new ArrayList<>();
    for (GradientAndVariable p : pairs) {
      if (p.gradient() instanceof Grad.None) {
        taken.add(p);
        continue;
      }
      Accumulator a =
          Accumulator.of(own.withDevice(p.variable().node().device()), p.variable(), p.gradient());
      accumulators.add(a);
      // Measured first: once all gradients are there, the global step moves on.
      applied.add(a.apply(stale.node(), localStep.read(), p.gradient()));
      taken.add(new GradientAndVariable(a.take(required), p.variable()));
    }
    Node update = optimizer.applyGradients(onStep, taken, globalStep);
    Output queue =
        onStep
            .withName("sync_token_q")
            .node("FIFOQueueV2")
            .attr("component_types", List.of(globalStep.dtype()))
            .attr("shapes", List.of(Shape.scalar()))
            .attr("capacity", -1)
            .attr("shared_name", "sync_token_q")
            .add()
            .output();
    Output token =
        QueueAccess.dequeue(
                onStep.withName("sync_token_q_Dequeue").withControlInputs(applied),
                queue,
                List.of(globalStep.dtype()))
            .output(0);
    token.refineShape(Shape.scalar());
    Node train = localStep.assign(beside, token);
    Output newStep = globalStep.valueAfter(onStep, update);
    Node sync = enqueue(onStep, queue, newStep, tokens(onStep.withControlInputs(update), left));
    nodes =
        new SyncNodes(
            globalStep,
            localStep,
            localInit,
            chiefInit(scope, own, onStep, accumulators, localInit, left, globalStep),
            initTokens(onStep, queue, globalStep),
            sync,
            QueueAccess.close(onStep.withName("sync_token_q_Close"), queue, true),
            stale,
            leave(own, onStep, accumulators, left, localInit, localStep));
    return train;
  }

  /** How many gradients to wait for: no more than there are workers left to send them. */
  private Output required(Scope s, Output left) {
    Output total = Const.of(s, totalReplicas);
    Output active = Arithmetic.sub(s, total, Identity.of(s, left));
    Output most = Arithmetic.minimum(s, Const.of(s, replicasToAggregate), active);
    return totalReplicas < replicasToAggregate
        ? Const.of(s, replicasToAggregate)
        : Arithmetic.maximum(s, most, Const.of(s, 1));
  }

  /**
   * How many tokens to hand out: one for each worker that is there after the step, or each of its
   * contributions. More would let one of them compute with old values, only to have it dropped.
   */
  private Output tokens(Scope s, Output left) {
    if (totalReplicas < replicasToAggregate) {
      return Const.ints(s, replicasToAggregate);
    }
    Output active = Arithmetic.sub(s, Const.of(s, totalReplicas), Identity.of(s, left));
    return Pack.of(s, List.of(Arithmetic.maximum(s, active, Const.of(s, 1))));
  }

  private static Node enqueue(Scope s, Output queue, Output step, Output tokens) {
    Output values = Fill.of(s, tokens, step);
    return QueueAccess.enqueueMany(s.withName("sync_token_q_EnqueueMany"), queue, List.of(values));
  }

  /**
   * The tokens handed out before the first step, no more than are needed: with fewer workers than
   * gradients a worker must be able to contribute several times. More would let workers compute
   * their second gradients with the first values, only to have them dropped.
   */
  private Node initTokens(Scope s, Output queue, GraphVariable globalStep) {
    int tokens = replicasToAggregate - totalReplicas;
    return tokens > 0
        ? enqueue(s, queue, globalStep.read(), Const.ints(s, tokens))
        : NoOp.group(s.withName("no_init_tokens"), List.of());
  }

  private static Node chiefInit(
      Scope scope,
      Scope own,
      Scope onStep,
      List<Accumulator> accumulators,
      Node localInit,
      Output left,
      GraphVariable globalStep) {
    List<Node> all = new ArrayList<>(List.of(localInit));
    accumulators.forEach(a -> all.add(a.setGlobalStep(globalStep.read())));
    all.add(
        onStep
            .reopened(own.prefix())
            .node("Assign")
            .input(left)
            .input(Const.of(onStep.reopened(own.prefix()), 0))
            .add());
    return Group.of(scope.reopened(own.prefix()), "group_deps", all);
  }

  /** How many steps the others have made since this worker's token: above 0 it is too late. */
  private static Output stale(Scope s, GraphVariable localStep, GraphVariable globalStep) {
    Output now =
        globalStep.isResource()
            ? globalStep.read()
            : Identity.of(s.colocatedWith(globalStep.node()), globalStep.handle());
    return Cast.of(s.withName("staleness"), Arithmetic.sub(s, now, localStep.read()), DType.INT64);
  }

  /**
   * What a leaving worker runs: counts itself out, and then adds a gradient of zeros, which the
   * chief may be waiting for already.
   */
  private static Node leave(
      Scope own,
      Scope onStep,
      List<Accumulator> accumulators,
      Output left,
      Node localInit,
      GraphVariable localStep) {
    Scope s = onStep.reopened(own.prefix() + "leave/");
    Node counted = AssignAdd.of(s, left, Const.of(s, 1));
    Scope after = own.reopened(own.prefix() + "leave/").withControlInputs(counted, localInit);
    Output step = Identity.of(after.colocatedWith(localStep.node()), localStep.handle());
    List<Node> zeros = new ArrayList<>();
    accumulators.forEach(a -> zeros.add(a.applyZeros(after, step)));
    return NoOp.group(after.withName("left"), zeros);
  }

  /** What makes a task take part; {@code chief} whether it is the one that applies the average. */
  public SyncReplicasHook hook(boolean chief) {
    if (nodes == null) {
      throw MillraceException.invalid(
          "Call applyGradients or minimize before asking for the hook of a SyncReplicasOptimizer.");
    }
    return new SyncReplicasHook(nodes, chief, replicasToAggregate, totalReplicas);
  }
}
