package dev.millrace.ring;

import dev.millrace.collective.Ring;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.tensor.DType;
import dev.millrace.train.optimizer.GradientAndVariable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Adds the nodes that average gradients over all ranks. Those that are whole tensors of known shape
 * go in one sequence per type, in the order in which the backward pass yields them, which costs one
 * negotiation per step; other ones are negotiated each.
 */
final class GradientExchange {
  private final Ring ring;
  private final Scope scope;
  private final Compression compression;
  private final boolean overlap;

  GradientExchange(Ring ring, Scope scope, Compression compression, boolean overlap) {
    this.ring = ring;
    this.scope = scope;
    this.compression = compression;
    this.overlap = overlap;
  }

  /** For gradients of which every step computes all. */
  List<GradientAndVariable> average(List<GradientAndVariable> own) {
    if (ring.size() == 1) {
      return own;
    }
    List<Output> dense =
        own.stream()
            .filter(p -> p.gradient() instanceof Grad.Dense d && d.value().shape().isKnown())
            .map(p -> ((Grad.Dense) p.gradient()).value())
            .toList();
    if (dense.isEmpty() || passThroughRing(dense)) {
      return averageOneByOne(own);
    }
    Map<Output, Output> averages = inSequence(dense);
    List<GradientAndVariable> averaged = new ArrayList<>();
    for (GradientAndVariable p : own) {
      Output known = p.gradient() instanceof Grad.Dense d ? averages.get(d.value()) : null;
      averaged.add(
          new GradientAndVariable(
              known == null ? average(p.gradient()) : new Grad.Dense(known), p.variable()));
    }
    return averaged;
  }

  /** For gradients of which a step may compute some only. */
  List<GradientAndVariable> averageOneByOne(List<GradientAndVariable> own) {
    if (ring.size() == 1) {
      return own;
    }
    return own.stream()
        .map(p -> new GradientAndVariable(average(p.gradient()), p.variable()))
        .toList();
  }

  /** Whether they depend on other operations of the ring, which a sequence would hold up. */
  private static boolean passThroughRing(List<Output> gradients) {
    Set<Node> seen = new HashSet<>();
    Deque<Node> ahead = new ArrayDeque<>(gradients.stream().map(Output::node).toList());
    while (!ahead.isEmpty()) {
      Node n = ahead.pop();
      if (seen.add(n)) {
        if (n.op().name().startsWith("Horovod")) {
          return true;
        }
        n.inputs().forEach(in -> ahead.push(in.node()));
        n.controlInputs().forEach(ahead::push);
      }
    }
    return false;
  }

  private Map<Output, Output> inSequence(List<Output> gradients) {
    // Gradients are added to the graph in the order in which they are computed.
    Comparator<Output> age = Comparator.comparingInt(g -> g.node().id());
    Map<DType, List<Output>> byType = new LinkedHashMap<>();
    gradients.stream()
        .distinct()
        .sorted(age.thenComparingInt(Output::index))
        .forEach(
            g ->
                byType
                    .computeIfAbsent(compression.wireType(g.dtype()), t -> new ArrayList<>())
                    .add(g));
    Scope after =
        overlap ? scope : scope.withControlInputs(gradients.stream().map(Output::node).toList());
    Map<Output, Output> averages = new LinkedHashMap<>();
    byType.forEach(
        (type, some) -> {
          String name = scope.prefix() + type.label();
          for (int i = 0; i < some.size(); i++) {
            Output g = some.get(i);
            Output sent = g.dtype() == type ? g : Cast.of(after, g, type);
            Output got =
                RingOps.reduceInSequence(
                    named(after, "Reduce", g), sent, ReduceOp.AVERAGE, name, i, some.size());
            averages.put(g, g.dtype() == type ? got : Cast.of(scope, got, g.dtype()));
          }
        });
    return averages;
  }

  private Grad average(Grad gradient) {
    return switch (gradient) {
      case Grad.Dense d -> new Grad.Dense(average(d.value()));
      case Grad.Rows r ->
          new Grad.Rows(
              Arithmetic.mul(
                  scope,
                  RingOps.allGather(named(scope, "Allgather", r.values()), r.values()),
                  Const.of(scope, r.values().dtype(), 1.0 / ring.size())),
              RingOps.allGather(named(scope, "Allgather", r.indices()), r.indices()),
              r.denseShape());
      case Grad.None none -> none;
    };
  }

  private Output average(Output gradient) {
    DType wire = compression.wireType(gradient.dtype());
    boolean same = wire == gradient.dtype();
    Output sent = same ? gradient : Cast.of(scope, gradient, wire);
    Output got = RingOps.allReduce(named(scope, "Allreduce", gradient), sent, ReduceOp.AVERAGE);
    return same ? got : Cast.of(scope, got, gradient.dtype());
  }

  /** By this name the ranks' nodes find each other, and people them. */
  private static Scope named(Scope scope, String operation, Output x) {
    return scope.withName("Horovod" + operation + "_" + x.name().replaceAll("[^A-Za-z0-9]", "_"));
  }
}
