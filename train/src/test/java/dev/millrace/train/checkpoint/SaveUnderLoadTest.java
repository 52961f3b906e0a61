package dev.millrace.train.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.config.Config;
import dev.millrace.base.config.TestSettings;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.optimizer.GradientAndVariable;
import dev.millrace.train.optimizer.Momentum;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariablePartitioner;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Saves while other threads change the variables as fast as they can. With a gradient, a learning
 * rate and a momentum of 1 the slot of a variable after k updates is k and the variable -k(k+1)/2,
 * exactly and in every element: so a checkpoint shows whether it holds a variable and its slot as
 * they were at one moment. The property {@code millrace.saves.under.load} says how many saves.
 */
class SaveUnderLoadTest {
  private static final int SAVES = Config.ofProcess().get(TestSettings.SAVES_UNDER_LOAD);
  private static final Shape SHAPE = Shape.of(600, 500);

  /** The parts of the variables made below. */
  private static final List<String> WHOLE = List.of("reference", "resource");

  private static final List<String> PARTITIONED = List.of("parts", "resource_parts");

  @TempDir Path folder;

  private final Scope scope = Scope.of(new Graph(StandardOps.registry()));

  private Node updates() {
    VariablePartitioner halves = (shape, dtype) -> new int[] {2, 1};
    VariableScope references = VariableScope.of(scope);
    VariableScope resources = references.withResources(true);
    List<GraphVariable> all = new ArrayList<>();
    all.add(references.variable("reference", DType.DOUBLE, SHAPE, Initializers.zeros()));
    all.add(resources.variable("resource", DType.DOUBLE, SHAPE, Initializers.zeros()));
    all.addAll(
        references.partitioned("parts", DType.DOUBLE, SHAPE, Initializers.zeros(), halves).parts());
    all.addAll(
        resources
            .partitioned("resource_parts", DType.DOUBLE, SHAPE, Initializers.zeros(), halves)
            .parts());
    List<GradientAndVariable> gradients =
        all.stream()
            .map(v -> new GradientAndVariable(new Grad.Dense(Const.of(scope, ones(v.shape()))), v))
            .toList();
    return new Momentum(1, 1).applyGradients(scope, gradients, null);
  }

  private static Tensor ones(Shape shape) {
    double[] ones = new double[(int) shape.elements()];
    Arrays.fill(ones, 1);
    return Tensor.of(shape, ones);
  }

  @Test
  @Timeout(600)
  void savesAreWholeAndVariablesAgreeWithTheirSlots() throws Exception {
    Node update = updates();
    Saver saver = Saver.of(scope, SaverOptions.DEFAULT.withMetaGraph(false).withMaxToKeep(SAVES));
    AtomicBoolean done = new AtomicBoolean();
    AtomicLong count = new AtomicLong();
    List<Path> saved = new ArrayList<>();
    try (LocalSession session =
            new LocalSession(scope.graph(), SessionOptions.DEFAULT.withSoftPlacement(true));
        ExecutorService workers = Executors.newFixedThreadPool(2)) {
      session.run(Variables.initializer(scope));
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        running.add(
            workers.submit(
                () -> {
                  while (!done.get()) {
                    session.run(update);
                    count.incrementAndGet();
                  }
                }));
      }
      try {
        for (int i = 0; i < SAVES; i++) {
          saved.add(saver.save(session, folder.resolve("model.ckpt"), (long) i));
        }
      } finally {
        done.set(true);
        for (Future<?> f : running) {
          f.get();
        }
      }
    }
    assertTrue(count.get() > SAVES, "only " + count + " updates were made during the saves");
    assertEquals(saved, CheckpointFolder.newestFirst(folder).reversed());
    Set<Double> moments = new HashSet<>();
    for (Path p : saved) {
      try (BundleReader reader = new BundleReader(p)) {
        for (String name : WHOLE) {
          moments.add(check(p, reader, name, 1));
        }
        for (String name : PARTITIONED) {
          check(p, reader, name, 2);
        }
      }
    }
    assertTrue(moments.size() > 1, "nothing was changed between the saves");
  }

  /** Checks each part of a variable against its slot; returns how often the first was updated. */
  private static double check(Path checkpoint, BundleReader reader, String name, int parts) {
    Tensor value = reader.read(name);
    Tensor slot = reader.read(name + "/Momentum");
    try {
      double first = slot.doubleAt(0);
      long n = value.elements() / parts;
      for (long i = 0; i < value.elements(); i++) {
        double k = slot.doubleAt(i / n * n);
        if (slot.doubleAt(i) != k || value.doubleAt(i) != -k * (k + 1) / 2) {
          throw new AssertionError(
              checkpoint
                  + " has not "
                  + name
                  + " at one moment: element "
                  + i
                  + " is "
                  + value.doubleAt(i)
                  + ", of its slot "
                  + slot.doubleAt(i)
                  + ", the first of that is "
                  + k);
        }
      }
      return first;
    } finally {
      value.close();
      slot.close();
    }
  }
}
