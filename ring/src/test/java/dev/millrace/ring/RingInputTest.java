package dev.millrace.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.runtime.LocalSession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.data.InputFeed;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every rank has its own place in the data, and rank 0 saves all of them. */
class RingInputTest {
  private static final int EXAMPLES = 24;
  private static final Dataset NUMBERS =
      Datasets.generated(EXAMPLES, i -> new Tensor[] {Tensor.of(Shape.scalar(), (float) i)});

  @TempDir Path folder;

  /** Trains to step {@code last}; the examples each rank has seen. */
  private List<List<Integer>> train(int ranks, long last) {
    return Ranks.run(
        ranks,
        ring -> {
          Scope scope = Scope.of(RingOps.newGraph(ring));
          VariableScope model = VariableScope.of(scope);
          Output fed = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.of(-1));
          Output x = Identity.of(scope, fed);
          GraphVariable w = model.variable("w", Shape.of(1), Initializers.ones());
          Output loss = Arithmetic.mul(scope, x, w.read());
          GraphVariable step = GlobalStep.of(model);
          Node train =
              new DistributedOptimizer(ring, new GradientDescent(.01f)).minimize(scope, loss, step);
          Dataset own =
              NUMBERS.shard(ring.size(), ring.rank()).shuffle(8, 3).batch(2, true).repeat();
          InputFeed feed = new InputFeed(scope, own, List.of(fed), ring.rank(), ring.size());
          TrainingSettings settings =
              RingSettings.of(
                  ring,
                  scope,
                  TrainingSettings.DEFAULT
                      .withFolder(folder)
                      .withSaveEverySteps(100)
                      .withHooks(feed, StopAtStepHook.at(step, last)));
          List<Integer> seen = new ArrayList<>();
          try (MonitoredTrainingSession session =
              MonitoredTrainingSession.start(scope, LocalSession::new, settings)) {
            while (!session.shouldStop()) {
              try (Tensor batch = session.run(Map.of(), List.of(x), List.of(train)).getFirst()) {
                for (float f : batch.toFloats()) {
                  seen.add((int) f);
                }
              }
            }
          }
          return seen;
        });
  }

  private static List<Integer> sorted(Stream<List<Integer>> parts) {
    return parts.flatMap(List::stream).sorted().toList();
  }

  /** Each example this many times. */
  private static List<Integer> times(int n) {
    return IntStream.range(0, EXAMPLES * n).mapToObj(i -> i / n).toList();
  }

  @Test
  void resumedRanksGoOnWhereEachWas() {
    // An epoch is six steps of two ranks with two examples each.
    List<List<Integer>> before = train(2, 4);
    List<List<Integer>> after = train(2, 6);
    assertEquals(times(1), sorted(Stream.concat(before.stream(), after.stream())));
    List<List<Integer>> second = train(2, 11);
    List<List<Integer>> rest = train(2, 12);
    assertEquals(times(1), sorted(Stream.concat(second.stream(), rest.stream())));
  }

  @Test
  void anotherNumberOfRanksBeginsTheDataAgain() {
    train(2, 4);
    // An epoch is four steps of three ranks.
    List<List<Integer>> after = train(3, 8);
    assertEquals(times(1), sorted(after.stream()));
  }
}
