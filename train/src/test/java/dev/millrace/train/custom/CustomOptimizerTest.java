package dev.millrace.train.custom;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Range;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Reduction;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.storage.checkpoint.ShapeAndSlice;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.hook.SmallCluster;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.optimizer.Minimizer;
import dev.millrace.train.optimizer.Momentum;
import dev.millrace.train.optimizer.Optimizer;
import dev.millrace.train.session.LineModel;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.sync.BoundedStaleness;
import dev.millrace.train.sync.BoundedStalenessHook;
import dev.millrace.train.sync.SyncReplicasOptimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializer;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.PartitionedVariable;
import dev.millrace.train.variable.VariablePartitioner;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An optimizer and an initializer from another package serve wherever the built-in ones do. */
class CustomOptimizerTest {
  private static final float RATE = .02f;
  private static final float MOMENTUM = .9f;
  private static final int STEPS = 5;

  @TempDir private Path folder;

  private static Optimizer custom() {
    return new HeavyBall(RATE, MOMENTUM);
  }

  private static Optimizer builtIn() {
    return new Momentum(RATE, MOMENTUM);
  }

  /** A vector and some rows of a table, of which one occurs twice. */
  private static final class Rows {
    final Graph graph = StandardOps.newGraph();
    final Scope scope = Scope.of(graph);
    final GraphVariable table;
    final GraphVariable bias;
    final Node train;

    Rows(Optimizer optimizer, boolean resource) {
      VariableScope vs = VariableScope.of(scope).withResources(resource);
      table = vs.variable("table", Shape.of(4, 2), Initializers.constant(3));
      bias = vs.variable("bias", Shape.of(2), Initializers.ones());
      Output rows = Embedding.lookup(scope, table, Const.ints(scope, 2, 0, 2));
      Output sum = Arithmetic.add(scope, rows, bias.read());
      Output squares = Arithmetic.mul(scope, sum, sum);
      train = optimizer.minimize(scope, Reduction.sumAll(scope, squares), null);
    }

    float[] trained(Session s, int steps) {
      for (int i = 0; i < steps; i++) {
        s.run(train);
      }
      float[] t = s.fetch(table.read()).toFloats();
      float[] b = s.fetch(bias.read()).toFloats();
      float[] both = new float[t.length + b.length];
      System.arraycopy(t, 0, both, 0, t.length);
      System.arraycopy(b, 0, both, t.length, b.length);
      return both;
    }
  }

  private static float[] alone(Optimizer optimizer, boolean resource) {
    Rows m = new Rows(optimizer, resource);
    Node init = Variables.initializer(m.scope);
    try (Session s = new LocalSession(m.graph)) {
      s.run(init);
      return m.trained(s, STEPS);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void denseAndSparseUpdatesAreTheRulesOwn(boolean resource) {
    assertArrayEquals(alone(builtIn(), resource), alone(custom(), resource), 1e-5f);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void checkpointsKeepSlotsAndSharedState(boolean resource) {
    float[] whole = alone(custom(), resource);
    Path saved;
    Rows first = new Rows(custom(), resource);
    Saver saver = Saver.of(first.scope);
    Node init = Variables.initializer(first.scope);
    try (Session s = new LocalSession(first.graph)) {
      s.run(init);
      first.trained(s, 2);
      saved = saver.save(s, folder.resolve("model.ckpt"), 2L);
    }
    HeavyBall again = new HeavyBall(RATE, MOMENTUM);
    Rows second = new Rows(again, resource);
    Saver restorer = Saver.of(second.scope);
    try (Session s = new LocalSession(second.graph)) {
      restorer.restore(s, saved);
      assertArrayEquals(whole, second.trained(s, STEPS - 2), 1e-5f);
      assertEquals(STEPS, s.fetch(again.updates().read()).longValue());
    }
    GraphVariable slot = again.slots().get("speed", second.table);
    assertEquals("table/HeavyBall", slot.name());
  }

  @Test
  void slotThatWasNeverMadeIsNamed() {
    Optimizer forgetful =
        new Optimizer("Forgetful") {
          @Override
          protected Node applyDense(Scope scope, GraphVariable v, Output gradient) {
            return v.assignSub(scope, slots().get("speed", v).read());
          }

          @Override
          protected Node applySparse(Scope scope, GraphVariable v, Grad.Rows rows) {
            return applyDense(scope, v, rows.values());
          }
        };
    var e = assertThrows(MillraceException.class, () -> new Rows(forgetful, false));
    assertTrue(e.getMessage().contains("no slot 'speed'"), e.getMessage());
  }

  // ---- on a cluster ----

  private static TrainingSettings settings(boolean chief) {
    return TrainingSettings.DEFAULT
        .withChief(chief)
        .withLogEverySteps(0)
        .withMaxWait(Duration.ofSeconds(60));
  }

  /** What some steps of one worker after the other make of the weight. */
  private static float inTurns(Supplier<Optimizer> optimizer, boolean bounded) {
    try (SmallCluster cluster = new SmallCluster(1, 2);
        Worker first = new Worker(cluster, 0, optimizer.get(), bounded);
        Worker second = new Worker(cluster, 1, optimizer.get(), bounded)) {
      for (int i = 0; i < STEPS; i++) {
        first.model.step(first.session);
        second.model.step(second.session);
      }
      assertEquals(2 * STEPS, first.model.stepOf(first.session.raw()));
      return first.session.raw().fetch(first.model.w.read()).floatValue();
    }
  }

  private static final class Worker implements AutoCloseable {
    final LineModel model;
    final MonitoredTrainingSession session;

    Worker(SmallCluster cluster, int index, Optimizer optimizer, boolean bounded) {
      BoundedStaleness around = bounded ? new BoundedStaleness(optimizer, 2, index, 1) : null;
      model = new LineModel(cluster.placementOf(index), bounded ? around : optimizer);
      TrainingSettings s = settings(index == 0);
      if (bounded) {
        BoundedStalenessHook hook = around.hook(index == 0, Duration.ofSeconds(60));
        s = s.withHooks(hook);
      }
      session = MonitoredTrainingSession.start(model.scope, cluster.sessionsOf(index), s);
    }

    @Override
    public void close() {
      session.close();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void workersShareItAsynchronouslyAndWithBoundedStaleness(boolean bounded) {
    assertEquals(
        inTurns(CustomOptimizerTest::builtIn, bounded),
        inTurns(CustomOptimizerTest::custom, bounded),
        1e-5f);
  }

  @Test
  void workersShareItInStep() throws Exception {
    LineModel one = new LineModel(s -> s, builtIn());
    Node init = Variables.initializer(one.scope);
    float expected;
    try (Session s = new LocalSession(one.graph)) {
      s.run(init);
      for (int i = 0; i < STEPS; i++) {
        s.run(one.batch(1, 2), one.train);
      }
      expected = s.fetch(one.w.read()).floatValue();
    }
    try (SmallCluster cluster = new SmallCluster(1, 2)) {
      CompletableFuture<Float> other = CompletableFuture.supplyAsync(() -> inStep(cluster, 1));
      assertEquals(expected, inStep(cluster, 0), 1e-5f);
      assertEquals(expected, other.get(60, TimeUnit.SECONDS), 1e-5f);
    }
  }

  private static float inStep(SmallCluster cluster, int index) {
    SyncReplicasOptimizer sync = new SyncReplicasOptimizer(custom(), 2);
    LineModel m = new LineModel(cluster.placementOf(index), (Minimizer) sync);
    TrainingSettings s =
        settings(index == 0).withHooks(StopAtStepHook.at(m.step, STEPS), sync.hook(index == 0));
    try (var session = MonitoredTrainingSession.start(m.scope, cluster.sessionsOf(index), s)) {
      session.loop(x -> x.run(m.batch(1, 2), List.of(), List.of(m.train)));
      return session.raw().fetch(m.w.read()).floatValue();
    }
  }

  // ---- an initializer ----

  /** 0, 1, 2, ... over the whole variable, in whatever parts it is. */
  private static Initializer counting(long from) {
    return new Initializer() {
      @Override
      public Output of(Scope scope, DType dtype, Shape shape) {
        int end = (int) (from + shape.elements());
        Output all =
            Range.of(scope, Const.of(scope, (int) from), Const.of(scope, end), Const.of(scope, 1));
        return Reshape.of(scope, Cast.of(scope, all, dtype), Const.dims(scope, shape));
      }

      @Override
      public Initializer forPart(ShapeAndSlice part) {
        return counting(
            part.slice().start(0) * part.shape().slice(1, part.shape().rank()).elements());
      }
    };
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void initializerFillsVariablesAndTheirParts(boolean resource) {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    VariableScope vs = VariableScope.of(scope).withResources(resource);
    GraphVariable whole = vs.variable("whole", Shape.of(5, 2), counting(0));
    PartitionedVariable parts =
        vs.partitioned(
            "parts", DType.FLOAT, Shape.of(5, 2), counting(0), VariablePartitioner.fixedSize(2, 0));
    Output all = parts.read(scope);
    Node init = Variables.initializer(scope);
    try (Session s = new LocalSession(graph)) {
      s.run(init);
      float[] expected = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
      assertArrayEquals(expected, s.fetch(whole.read()).toFloats());
      assertArrayEquals(expected, s.fetch(all).toFloats());
    }
  }
}
