package dev.millrace.train.sync;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.NoOp;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.graph.GraphKeys;
import dev.millrace.train.graph.GroupNodes;
import dev.millrace.train.optimizer.DistinctRows;
import dev.millrace.train.optimizer.GradientAndVariable;
import dev.millrace.train.optimizer.Minimizer;
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
 * take part, and either side can be the chief. Beside the tokens are a {@link Generation}, which
 * tells a worker that the chief has prepared the model anew, and two queues whose elements say
 * nothing but are counted: workers that left, so that the chief waits for fewer; and, with spares,
 * gradients that came in time, so that each is answered by one token. A worker that is late needs
 * none: it goes on at once from where the others are. docs/decisions/0014 says why nobody waits in
 * vain.
 *
 * <p>The train op of {@link #applyGradients} needs the {@link #hook} of this task.
 */
public final class SyncReplicasOptimizer implements Minimizer {
  private static final Logger LOG = LoggerFactory.getLogger(SyncReplicasOptimizer.class);

  private final Minimizer optimizer;
  private final Replicas replicas;
  private SyncNodes nodes;

  /** Waits for all of {@code replicas} workers. */
  public SyncReplicasOptimizer(Minimizer optimizer, int replicas) {
    this(optimizer, replicas, replicas);
  }

  /**
   * Waits for the first {@code replicasToAggregate} gradients of {@code totalReplicas} workers,
   * which may be more, the others being spares, or fewer, each then contributing several times.
   */
  public SyncReplicasOptimizer(Minimizer optimizer, int replicasToAggregate, int totalReplicas) {
    this.optimizer = optimizer;
    this.replicas = new Replicas(replicasToAggregate, totalReplicas);
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
    Tally arrived = replicas.hasSpares() ? Tally.of(ownOnStep, "sync_arrived_q") : null;
    Output required = required(ownOnStep, left);
    Output stale = stale(ownOnStep, localStep, globalStep);
    Output inTime = arrived == null ? null : inTime(ownOnStep, stale);
    Node before = arrived == null ? stale.node() : arrived.add(ownOnStep, inTime);
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
      applied.add(a.apply(before, localStep.read(), distinct(own, p.gradient())));
      taken.add(new GradientAndVariable(a.take(required), p.variable()));
    }
    Node update = optimizer.applyGradients(onStep, taken, globalStep);
    Generation generation = new Generation(ownOnStep, globalStep);
    TokenQueue tokens = TokenQueue.of(onStep, globalStep, generation);
    Scope whenSent = onStep.withControlInputs(applied);
    TokenQueue.Taken token = inTime == null ? tokens.take(whenSent) : tokens.take(whenSent, inTime);
    TokenQueue.Taken another =
        inTime == null ? tokens.take(ownOnStep) : tokens.take(ownOnStep, Const.of(ownOnStep, 1));
    Node train = localStep.assign(beside, token.step());
    Scope whenUpdated = onStep.withControlInputs(update);
    Output returned = tokens.returned(ownOnStep);
    nodes =
        new SyncNodes(
            localStep,
            generation,
            localInit,
            GroupNodes.of(scope.reopened(own.prefix()), "flush", flushes(accumulators)),
            chiefInit(scope, own, ownOnStep, accumulators, arrived, localInit, globalStep),
            tokens.handOut(ownOnStep, globalStep.read(), startTokens(ownOnStep, left)),
            train,
            token.report(),
            new SyncNodes.Again(localStep.assign(beside, another.step()), another.report()),
            returned,
            tokens.giveBack(ownOnStep, returned),
            tokens.handOut(
                onStep,
                globalStep.valueAfter(onStep, update),
                tokensPerStep(whenUpdated, left, arrived)),
            left.count(whenUpdated),
            left.count(ownOnStep),
            left.add(ownOnStep),
            tokens.close(),
            stale,
            leave(own, onStep, accumulators, left, localInit, localStep));
    return train;
  }

  /**
   * Accumulators average each row over the gradients that have it, and take rows that stand twice,
   * or out of order, for those of others.
   */
  private static Grad distinct(Scope own, Grad gradient) {
    return gradient instanceof Grad.Rows rows
        ? DistinctRows.sorted(own.withSubScope("distinct_rows"), rows)
        : gradient;
  }

  private static List<Node> flushes(List<Accumulator> accumulators) {
    return accumulators.stream().map(Accumulator::flush).toList();
  }

  /** 1 if the gradients are not late as far as is known, else 0. */
  private static Output inTime(Scope s, Output stale) {
    Output late =
        Arithmetic.minimum(s, Arithmetic.maximum(s, stale, Const.of(s, 0L)), Const.of(s, 1L));
    return Cast.of(s, Arithmetic.sub(s, Const.of(s, 1L), late), DType.INT32);
  }

  /** How many workers there are. */
  private Output active(Scope s, Tally left) {
    return Arithmetic.sub(s, Const.of(s, replicas.total()), left.count(s));
  }

  /** How many gradients to wait for: no more than there are workers left to send them. */
  private Output required(Scope s, Tally left) {
    if (replicas.areTooFew()) {
      return Const.of(s, replicas.aggregated());
    }
    Output most = Arithmetic.minimum(s, Const.of(s, replicas.aggregated()), active(s, left));
    return Arithmetic.maximum(s, most, Const.of(s, 1));
  }

  /**
   * How many tokens to hand out: one for each worker that is there after the step, or each of its
   * contributions. More would let one of them compute with old values, only to have it dropped. So
   * with spares it is one for each gradient that was counted; workers that do not count theirs, as
   * TensorFlow's, still get as many as were waited for.
   */
  private Output tokensPerStep(Scope s, Tally left, Tally arrived) {
    if (replicas.areTooFew()) {
      return Const.ints(s, replicas.aggregated());
    }
    Output wanted =
        replicas.hasSpares()
            ? Arithmetic.maximum(s, arrived.take(s), required(s, left))
            : Arithmetic.maximum(s, active(s, left), Const.of(s, 1));
    return Pack.of(s, List.of(wanted));
  }

  /**
   * How many tokens a generation begins with: one for each gradient of its first step but this
   * task's first, as any of the others may be waiting for a token of the generation before. Who is
   * not leaves them alone, unless it is one of TensorFlow's workers, which computes with the first
   * values twice then, as it does with a chief of TensorFlow.
   */
  private Output startTokens(Scope s, Tally left) {
    Output all = replicas.areTooFew() ? Const.of(s, replicas.aggregated()) : active(s, left);
    Output others = Arithmetic.sub(s, all, Const.of(s, 1));
    return Pack.of(s, List.of(Arithmetic.maximum(s, others, Const.of(s, 0))));
  }

  private static Node chiefInit(
      Scope scope,
      Scope own,
      Scope ownOnStep,
      List<Accumulator> accumulators,
      Tally arrived,
      Node localInit,
      GraphVariable globalStep) {
    List<Node> all = new ArrayList<>(List.of(localInit));
    accumulators.forEach(a -> all.add(a.setGlobalStep(a.flush(), globalStep.read())));
    if (arrived != null) {
      all.add(arrived.take(ownOnStep).node());
    }
    return GroupNodes.of(scope.reopened(own.prefix()), "group_deps", all);
  }

  /** How many steps the others have made since this worker's token: above 0 it is too late. */
  private static Output stale(Scope s, GraphVariable localStep, GraphVariable globalStep) {
    Output now = TokenQueue.now(s, globalStep);
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

  /** What was added to the graph; null before {@link #applyGradients}. */
  SyncNodes nodes() {
    return nodes;
  }

  /** What makes a task take part; {@code chief} whether it is the one that applies the average. */
  public SyncReplicasHook hook(boolean chief) {
    if (nodes == null) {
      throw MillraceException.invalid(
          "Call applyGradients or minimize before asking for the hook of a SyncReplicasOptimizer.");
    }
    return new SyncReplicasHook(nodes, chief, replicas);
  }
}
