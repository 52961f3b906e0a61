package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.collective.Ring;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ring.Compression;
import dev.millrace.ring.DistributedOptimizer;
import dev.millrace.ring.LearningRateScaling;
import dev.millrace.ring.MetricAverage;
import dev.millrace.ring.RingOps;
import dev.millrace.ring.RingSettings;
import dev.millrace.runtime.LocalSession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.optimizer.Momentum;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of coming-from-horovod.md, as a ring of one rank; there may be any number. */
class ComingFromHorovodTest {
  @Test
  void tensorsAreReduced() {
    // sample collectives
    try (Ring ring = Ring.init()) {
      Tensor mine = Tensor.vector(1f, ring.rank());
      Tensor sum = ring.allReduce("numbers", mine, ReduceOp.SUM);
      Tensor all = ring.allGather("rows", Tensor.of(Shape.of(1, 2), 1f, 2f));
      Tensor first = ring.broadcast("start", mine, 0);
      double mean = MetricAverage.of(ring, "loss", .5);
      System.out.println(sum + " " + all + " " + first + " " + mean);
    }
    // end
    try (Ring ring = Ring.init()) {
      Tensor sum = ring.allReduce("numbers", Tensor.vector(1f, ring.rank()), ReduceOp.SUM);
      assertArrayEquals(new float[] {1, 0}, sum.toFloats());
    }
  }

  @Test
  void ranksTrainTogether(@TempDir Path folder) {
    Tensor xs = Tensor.of(Shape.of(2, 1), 0f, 1f);
    Tensor ys = Tensor.of(Shape.of(2, 1), 1f, 3f);
    // sample training
    try (Ring ring = Ring.init()) {
      Scope scope = Scope.of(RingOps.newGraph(ring));
      VariableScope model = VariableScope.of(scope);
      Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, 1));
      Output y = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, 1));
      Output loss = Losses.meanSquaredError(scope, Dense.of(model, "line", x, 1), y);
      GraphVariable step = GlobalStep.of(model);

      float rate = LearningRateScaling.scaled(ring, .01f);
      DistributedOptimizer optimizer =
          new DistributedOptimizer(ring, new Momentum(rate, .9f)).withCompression(Compression.HALF);
      Node train = optimizer.minimize(scope, loss, step);

      // Broadcasts rank 0's variables at the start; only rank 0 writes to the folder.
      TrainingSettings settings =
          RingSettings.of(ring, scope, TrainingSettings.DEFAULT.withFolder(folder))
              .withHooks(StopAtStepHook.at(step, 1000 / ring.size()));
      try (var session = MonitoredTrainingSession.start(scope, LocalSession::new, settings)) {
        session.loop(s -> s.run(Map.of(x, xs, y, ys), train));
      }
    }
    // end
    assertTrue(Files.exists(folder.resolve("model.ckpt-1000.index")));
    assertEquals(2, xs.elements());
  }
}
