package dev.millrace.ring;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.optimizer.Adam;
import dev.millrace.train.optimizer.Clipping;
import dev.millrace.train.optimizer.GradientAndVariable;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.optimizer.Minimizer;
import dev.millrace.train.optimizer.Momentum;
import dev.millrace.train.optimizer.Optimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks with shares of a batch train as one process with the whole of it. */
class DistributedOptimizerTest {
  private static final int BATCH = 12;
  private static final int STEPS = 8;

  /** The losses of a process that has all of every batch. */
  private static double[] alone(Optimizer optimizer) {
    TinyModel m = TinyModel.in(StandardOps.newGraph(), 5);
    Node train = optimizer.minimize(m.scope(), m.loss(), null);
    Node init = Variables.initializer(m.scope());
    double[] losses = new double[STEPS];
    try (Session session = new LocalSession(m.scope().graph())) {
      session.run(init);
      for (int step = 0; step < STEPS; step++) {
        losses[step] = step(session, m, train, step, 0, BATCH);
      }
    }
    return losses;
  }

  private static double step(Session s, TinyModel m, Node train, int step, int from, int to) {
    Map<Output, Tensor> feeds =
        Map.of(m.x(), TinyModel.features(step, from, to), m.y(), TinyModel.labels(step, from, to));
    return s.run(feeds, List.of(m.loss()), List.of(train)).getFirst().doubleValue();
  }

  /** The losses of ranks that each have a share, averaged. */
  private static double[] together(
      int ranks, Supplier<Optimizer> optimizer, UnaryOperator<DistributedOptimizer> with) {
    List<double[]> all =
        Ranks.run(
            ranks,
            ring -> {
              // Other initial values on every rank, until rank 0's are broadcast.
              TinyModel m = TinyModel.in(RingOps.newGraph(ring), 5 + ring.rank());
              Node train =
                  with.apply(new DistributedOptimizer(ring, optimizer.get()))
                      .minimize(m.scope(), m.loss(), null);
              Node init = Variables.initializer(m.scope());
              Node broadcast = VariableBroadcast.of(m.scope(), 0);
              double[] losses = new double[STEPS];
              int share = BATCH / ring.size();
              try (Session session = new LocalSession(m.scope().graph())) {
                ParameterCheck check =
                    new ParameterCheck(ring, Variables.global(m.scope().graph()), 2);
                session.run(init);
                session.run(broadcast);
                for (int step = 0; step < STEPS; step++) {
                  int from = ring.rank() * share;
                  double own = step(session, m, train, step, from, from + share);
                  losses[step] = MetricAverage.of(ring, "loss", own);
                  check.afterStep(session, step);
                }
              }
              return losses;
            });
    all.forEach(losses -> assertArrayEquals(all.getFirst(), losses));
    return all.getFirst();
  }

  // README claim: run-ring
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void lossesAreThoseOfOneProcessWithTheWholeBatch(int ranks) {
    List<Supplier<Optimizer>> optimizers =
        List.of(
            () -> new GradientDescent(.5f),
            () -> new Momentum(.1f, .9f),
            () -> new Adam(.01f),
            Halving::new);
    for (Supplier<Optimizer> o : optimizers) {
      assertArrayEquals(alone(o.get()), together(ranks, o, d -> d), 1e-5);
    }
  }

  /** An optimizer written outside {@code train}: steps along half the gradient. */
  private static final class Halving extends Optimizer {
    Halving() {
      super("Halving");
    }

    @Override
    protected Node applyDense(Scope scope, GraphVariable v, Output gradient) {
      return v.assignSub(scope, Arithmetic.scaled(scope, gradient, .5));
    }

    @Override
    protected Node applySparse(Scope scope, GraphVariable v, Grad.Rows rows) {
      return v.scatterAdd(scope, rows.indices(), Arithmetic.scaled(scope, rows.values(), -.5));
    }
  }

  @Test
  void compressedGradientsTrainAlmostAlike() {
    double[] exact = alone(new GradientDescent(.5f));
    for (Compression c : List.of(Compression.HALF, Compression.BFLOAT16)) {
      double[] losses = together(2, () -> new GradientDescent(.5f), d -> d.withCompression(c));
      assertArrayEquals(exact, losses, 0.02);
      assertNotEquals(exact[STEPS - 1], losses[STEPS - 1], 1e-9);
    }
  }

  @Test
  void severalPassesMakeOneStepOfTheirAverage() {
    // Two ranks and three passes of 2 rows each see the 12 rows of one batch.
    double[] exact = new double[2];
    TinyModel whole = TinyModel.in(StandardOps.newGraph(), 5);
    Node descend = new GradientDescent(.5f).minimize(whole.scope(), whole.loss(), null);
    Node init = Variables.initializer(whole.scope());
    try (Session session = new LocalSession(whole.scope().graph())) {
      session.run(init);
      for (int step = 0; step < exact.length; step++) {
        exact[step] = step(session, whole, descend, step, 0, BATCH);
      }
    }
    List<double[]> all =
        Ranks.run(
            2,
            ring -> {
              TinyModel m = TinyModel.in(RingOps.newGraph(ring), 5);
              GraphVariable count = GlobalStep.of(VariableScope.of(m.scope()));
              Node train =
                  new DistributedOptimizer(ring, new GradientDescent(.5f))
                      .withBackwardPassesPerStep(3, true)
                      .minimize(m.scope(), m.loss(), count);
              Node first = Variables.initializer(m.scope());
              List<GraphVariable> locals = Variables.local(m.scope().graph());
              Node local = Variables.initializer(m.scope(), "init_local", locals);
              double[] losses = new double[exact.length];
              try (Session session = new LocalSession(m.scope().graph())) {
                session.run(first, local);
                for (int step = 0; step < losses.length; step++) {
                  for (int pass = 0; pass < 3; pass++) {
                    assertEquals(step, session.fetch(count.read()).longValue());
                    int from = 6 * ring.rank() + 2 * pass;
                    losses[step] += step(session, m, train, step, from, from + 2) / 3;
                  }
                  losses[step] = MetricAverage.of(ring, "loss", losses[step]);
                }
              }
              return losses;
            });
    assertArrayEquals(exact, all.getFirst(), 1e-5);
    assertArrayEquals(exact, all.getLast(), 1e-5);
  }

  /** The two halves of minimize, with a third thing done to the gradients between them. */
  private static Node clipped(Minimizer m, TinyModel model, GraphVariable count) {
    List<GradientAndVariable> pairs =
        m.computeGradients(model.scope(), model.loss(), Variables.trainable(model.scope().graph()));
    return m.applyGradients(
        model.scope(), Clipping.byGlobalNorm(model.scope(), pairs, 1e6f), count);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void computingAndApplyingApartEqualsMinimize(int passes) {
    List<double[]> all =
        Ranks.run(
            2,
            ring -> {
              double[] ends = new double[2];
              for (int way = 0; way < ends.length; way++) {
                TinyModel m = TinyModel.in(RingOps.newGraph(ring), 5);
                GraphVariable count = GlobalStep.of(VariableScope.of(m.scope()));
                DistributedOptimizer optimizer =
                    new DistributedOptimizer(ring, new Momentum(.1f, .9f))
                        .withBackwardPassesPerStep(passes, true);
                Node train =
                    way == 0
                        ? optimizer.minimize(m.scope(), m.loss(), count)
                        : clipped(optimizer, m, count);
                Node first = Variables.initializer(m.scope());
                List<GraphVariable> locals = Variables.local(m.scope().graph());
                Node local = Variables.initializer(m.scope(), "init_local", locals);
                try (Session session = new LocalSession(m.scope().graph())) {
                  session.run(first, local);
                  for (int run = 0; run < 2 * passes; run++) {
                    int from = 6 * ring.rank() + 2 * (run % passes);
                    ends[way] = step(session, m, train, run / passes, from, from + 2);
                  }
                  assertEquals(2, session.fetch(count.read()).longValue());
                }
              }
              return ends;
            });
    all.forEach(ends -> assertEquals(ends[0], ends[1], 1e-6));
  }

  @Test
  void gradientsOfRowsAreGathered() {
    // Rank r looks up rows r and r + 1: row 1 gets half of what both ranks want.
    List<float[]> tables =
        Ranks.run(
            2,
            ring -> {
              Graph graph = RingOps.newGraph(ring);
              Scope scope = Scope.of(graph);
              VariableScope model = VariableScope.of(scope);
              GraphVariable table = model.variable("table", Shape.of(3, 2), Initializers.zeros());
              Output rows =
                  Embedding.lookup(scope, table, Const.ints(scope, ring.rank(), ring.rank() + 1));
              Output loss = Reduction.sum(scope, Arithmetic.scaled(scope, rows, ring.rank() + 1));
              Node train =
                  new DistributedOptimizer(ring, new GradientDescent(1f))
                      .minimize(scope, loss, null);
              Node init = Variables.initializer(scope);
              try (Session session = new LocalSession(graph)) {
                session.run(init);
                session.run(train);
                return session.fetch(table.read()).toFloats();
              }
            });
    float[] expected = {-.5f, -.5f, -1.5f, -1.5f, -1, -1};
    assertArrayEquals(expected, tables.getFirst());
    assertArrayEquals(expected, tables.getLast());
  }

  @Test
  void warmUpLeadsFromTheRateToTheScaledOne() {
    List<double[]> rates =
        Ranks.run(
            2,
            ring -> {
              Graph graph = RingOps.newGraph(ring);
              Scope scope = Scope.of(graph);
              GraphVariable step = GlobalStep.of(VariableScope.of(scope));
              Output rate = LearningRateScaling.warmUp(scope, ring, .1f, step, 4);
              Node init = Variables.initializer(scope);
              Node next = step.assignAdd(scope, Const.of(scope, 2L));
              double[] seen = new double[4];
              try (Session session = new LocalSession(graph)) {
                session.run(init);
                for (int i = 0; i < seen.length; i++) {
                  seen[i] = session.fetch(rate).doubleValue();
                  session.run(next);
                }
              }
              assertEquals(.2f, LearningRateScaling.scaled(ring, .1f));
              return seen;
            });
    assertArrayEquals(new double[] {.1, .15, .2, .2}, rates.getFirst(), 1e-6);
  }

  /** A job of one rank adds nothing to the graph. */
  @Test
  void aloneNothingIsReduced() {
    Ranks.run(
        1,
        ring -> {
          TinyModel m = TinyModel.in(RingOps.newGraph(ring), 5);
          new DistributedOptimizer(ring, new GradientDescent(.5f))
              .minimize(m.scope(), m.loss(), null);
          long reductions =
              m.scope().graph().nodes().stream()
                  .filter(n -> n.op().name().startsWith("Horovod"))
                  .count();
          assertEquals(0, reductions);
          return null;
        });
  }
}
