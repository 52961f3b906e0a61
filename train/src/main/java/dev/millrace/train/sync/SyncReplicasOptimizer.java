package dev.millrace.train.sync;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Fill;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.NoOp;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.queue.QueueAccess;
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
 * take part, and either side can be the chief. Three queues beside the tokens are added. Their
 * elements say nothing but are counted: workers that left, so that the chief waits for fewer;
 * chiefs, so that one that comes after a lost one frees those who wait for its tokens; and, with
 * spares, gradients that came in time, so that each is answered by one token. A worker that is late
 * needs none: it goes on at once from where the others are. So there is never a token too many, by
 * which a fast worker would compute with values it has used already.
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
    Scope ownOnStep = onStep.reopened(own.prefix());
    Tally left = Tally.of(ownOnStep, "sync_left_q");
    Tally chiefs = Tally.of(ownOnStep, "sync_chief_q");
    Tally arrived = hasSpares() ? Tally.of(ownOnStep, "sync_arrived_q") : null;
    Output required = required(ownOnStep, left);
    Output stale = stale(ownOnStep, localStep, globalStep);
    Output inTime = hasSpares() ? inTime(ownOnStep, stale) : null;
    Node before = hasSpares() ? arrived.add(ownOnStep, inTime) : stale.node();
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
      // Measured and counted first: once all gradients are there, the global step moves on.
      applied.add(a.apply(before, localStep.read(), p.gradient()));
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
    Output token = token(onStep.withControlInputs(applied), queue, inTime, globalStep);
    Node train = localStep.assign(beside, token);
    Output newStep = globalStep.valueAfter(onStep, update);
    Output tokens = tokens(onStep.withControlInputs(update), left, arrived);
    Node sync = enqueue(onStep, queue, newStep, tokens);
    nodes =
        new SyncNodes(
            globalStep,
            localStep,
            localInit,
            chiefInit(scope, own, accumulators, localInit, chiefs.add(ownOnStep), globalStep),
            chiefs.count(ownOnStep),
            initTokens(onStep, queue, globalStep),
            renewTokens(ownOnStep, queue, left, globalStep),
            train,
            sync,
            QueueAccess.close(onStep.withName("sync_token_q_Close"), queue, true),
            stale,
            QueueAccess.enqueue(ownOnStep, queue, List.of(localStep.read())),
            takeAgain(ownOnStep, beside, queue, localStep),
            leave(own, onStep, accumulators, left, localInit, localStep));
    return train;
  }

  /** The step to go on with, once this worker may. */
  private static Output token(Scope s, Output queue, Output inTime, GraphVariable globalStep) {
    Scope named = s.withName("sync_token_q_Dequeue");
    List<DType> types = List.of(globalStep.dtype());
    Output token;
    if (inTime == null) {
      token = QueueAccess.dequeue(named, queue, types).output(0);
    } else {
      Node none = QueueAccess.dequeueMany(named, queue, inTime, types);
      Output now = now(s.withControlInputs(none), globalStep);
      token =
          Reduction.max(s, Concat.of(s, List.of(none.output(0), Pack.of(s, List.of(now))), 0), 0);
    }
    token.refineShape(Shape.scalar());
    return token;
  }

  private static Output takeAgain(
      Scope onStep, Scope beside, Output queue, GraphVariable localStep) {
    Output other = QueueAccess.dequeue(onStep, queue, List.of(localStep.dtype())).output(0);
    other.refineShape(Shape.scalar());
    return localStep.valueAfter(beside, localStep.assign(beside, other));
  }

  /** 1 if the gradients are not late as far as is known, else 0. */
  private static Output inTime(Scope s, Output stale) {
    Output late =
        Arithmetic.minimum(s, Arithmetic.maximum(s, stale, Const.of(s, 0L)), Const.of(s, 1L));
    return Cast.of(s, Arithmetic.sub(s, Const.of(s, 1L), late), DType.INT32);
  }

  private boolean hasSpares() {
    return replicasToAggregate < totalReplicas;
  }

  /** How many workers there are. */
  private Output active(Scope s, Tally left) {
    return Arithmetic.sub(s, Const.of(s, totalReplicas), left.count(s));
  }

  /** How many gradients to wait for: no more than there are workers left to send them. */
  private Output required(Scope s, Tally left) {
    if (totalReplicas < replicasToAggregate) {
      return Const.of(s, replicasToAggregate);
    }
    Output most = Arithmetic.minimum(s, Const.of(s, replicasToAggregate), active(s, left));
    return Arithmetic.maximum(s, most, Const.of(s, 1));
  }

  /**
   * How many tokens to hand out: one for each worker that is there after the step, or each of its
   * contributions. More would let one of them compute with old values, only to have it dropped. So
   * with spares it is one for each gradient that was counted; workers that do not count theirs, as
   * TensorFlow's, still get as many as were waited for.
   */
  private Output tokens(Scope s, Tally left, Tally arrived) {
    if (totalReplicas < replicasToAggregate) {
      return Const.ints(s, replicasToAggregate);
    }
    Output wanted =
        hasSpares()
            ? Arithmetic.maximum(s, arrived.take(s), required(s, left))
            : Arithmetic.maximum(s, active(s, left), Const.of(s, 1));
    return Pack.of(s, List.of(wanted));
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

  /**
   * Tokens for all but this worker, which does not wait. The lost chief may have taken their
   * gradients and not handed out any. One too many costs a gradient that is dropped.
   */
  private Node renewTokens(Scope s, Output queue, Tally left, GraphVariable globalStep) {
    Output others = Arithmetic.sub(s, active(s, left), Const.of(s, 1));
    if (totalReplicas < replicasToAggregate) {
      others = Const.of(s, replicasToAggregate - 1);
    }
    Output tokens = Arithmetic.maximum(s, others, Const.of(s, 0));
    return enqueue(s, queue, globalStep.read(), Pack.of(s, List.of(tokens)));
  }

  private static Node chiefInit(
      Scope scope,
      Scope own,
      List<Accumulator> accumulators,
      Node localInit,
      Node noted,
      GraphVariable globalStep) {
    List<Node> all = new ArrayList<>(List.of(localInit, noted));
    accumulators.forEach(a -> all.add(a.setGlobalStep(globalStep.read())));
    return Group.of(scope.reopened(own.prefix()), "group_deps", all);
  }

  /** How many steps the others have made since this worker's token: above 0 it is too late. */
  private static Output stale(Scope s, GraphVariable localStep, GraphVariable globalStep) {
    Output now = now(s, globalStep);
    return Cast.of(s.withName("staleness"), Arithmetic.sub(s, now, localStep.read()), DType.INT64);
  }

  /** The global step when this is run, rather than at the beginning of the step. */
  private static Output now(Scope s, GraphVariable globalStep) {
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

  /**
   * What a leaving worker runs: counts itself out, and then adds a gradient of zeros, which the
   * chief may be waiting for already.
   */
  private static Node leave(
      Scope own,
      Scope onStep,
      List<Accumulator> accumulators,
      Tally left,
      Node localInit,
      GraphVariable localStep) {
    Node counted = left.add(onStep.reopened(own.prefix() + "leave/"));
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
