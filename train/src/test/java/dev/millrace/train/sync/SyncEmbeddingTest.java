package dev.millrace.train.sync;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.math.Unary;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.hook.SmallCluster;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.optimizer.Adagrad;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.optimizer.Minimizer;
import dev.millrace.train.optimizer.Optimizer;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.PartitionedVariable;
import dev.millrace.train.variable.VariablePartitioner;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Workers that train some rows of a table together, which lies in parts on two servers. */
class SyncEmbeddingTest {
  private static final int STEPS = 6;

  /** A table of four rows, some of which are to become 0. */
  private static final class Table {
    final Scope scope;
    final GraphVariable step;
    final Output whole;
    final Output ids;
    final Node train;

    Table(UnaryOperator<Scope> placement, Minimizer optimizer) {
      scope = placement.apply(Scope.of(new Graph(StandardOps.registry())));
      step = GlobalStep.of(scope);
      PartitionedVariable table =
          VariableScope.of(scope)
              .partitioned(
                  "table",
                  DType.FLOAT,
                  Shape.of(4, 1),
                  Initializers.ones(),
                  VariablePartitioner.fixedSize(2, 0));
      whole = table.read(scope);
      ids = Placeholder.of(scope.withName("ids"), DType.INT64, Shape.of(-1));
      Output rows = Embedding.lookup(scope, table, ids, Embedding.Spread.DIV);
      Output flat = Reduction.mean(scope, Unary.square(scope, rows), 1);
      train = optimizer.minimize(scope, Reduction.mean(scope, flat, 0), step);
    }
  }

  /** What two workers with these ids make of the table. */
  private static float[] together(Supplier<Optimizer> optimizer, long[]... ids) throws Exception {
    try (SmallCluster cluster = new SmallCluster(2, 2)) {
      CompletableFuture<float[]> second =
          CompletableFuture.supplyAsync(() -> work(cluster, optimizer.get(), 1, ids[1]));
      float[] found = work(cluster, optimizer.get(), 0, ids[0]);
      second.get(60, TimeUnit.SECONDS);
      return found;
    }
  }

  private static float[] work(SmallCluster cluster, Optimizer optimizer, int index, long[] ids) {
    SyncReplicasOptimizer sync = new SyncReplicasOptimizer(optimizer, 2);
    Table t = new Table(cluster.placementOf(index), sync);
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withChief(index == 0)
            .withLogEverySteps(0)
            .withMaxWait(Duration.ofSeconds(60))
            .withHooks(StopAtStepHook.at(t.step, STEPS), sync.hook(index == 0));
    try (var s = MonitoredTrainingSession.start(t.scope, cluster.sessionsOf(index), settings);
        Tensor batch = Tensor.vector(ids)) {
      s.loop(x -> x.run(Map.of(t.ids, batch), t.train));
      return s.raw().fetch(t.whole).toFloats();
    }
  }

  private static float[] alone(Optimizer optimizer, long... ids) {
    Table t = new Table(s -> s, optimizer);
    try (Session s = new LocalSession(t.scope.graph());
        Tensor batch = Tensor.vector(ids)) {
      s.run(Variables.initializer(t.scope));
      for (int i = 0; i < STEPS; i++) {
        s.run(Map.of(t.ids, batch), t.train);
      }
      return s.fetch(t.whole).toFloats();
    }
  }

  /** However often a row stands in a batch, and wherever. */
  @Test
  void twoWorkersWithTheSameRowsEqualOneWithBothBatches() throws Exception {
    float[] expected = alone(new Adagrad(.3f), 3, 1, 1, 0, 0, 3, 1, 3);
    float[] found =
        together(() -> new Adagrad(.3f), new long[] {3, 1, 1, 0}, new long[] {0, 3, 1, 3});
    assertArrayEquals(expected, found, 1e-5f);
  }

  /** As in TensorFlow: a row that only one worker has is not averaged with nothing. */
  @Test
  void rowIsAveragedOverTheWorkersThatHaveIt() throws Exception {
    float[] found = together(() -> new GradientDescent(.1f), new long[] {2, 0}, new long[] {2, 3});
    float kept = (float) Math.pow(1 - .1, STEPS);
    assertArrayEquals(new float[] {kept, 1, kept, kept}, found, 1e-5f);
  }
}
