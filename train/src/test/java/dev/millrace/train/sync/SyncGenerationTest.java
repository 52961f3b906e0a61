package dev.millrace.train.sync;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SmallCluster;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Parameter servers and the chief are lost at the moments that matter, one after the other in one
 * process. Parameter server 0 has the global step, the tokens and {@code b}, 1 has {@code w}; each
 * step adds the mean of what the workers feed to both.
 */
class SyncGenerationTest {
  private static final RunOptions SOON = RunOptions.DEFAULT.withTimeout(Duration.ofSeconds(60));

  private final SmallCluster cluster = new SmallCluster(2, 3);
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void end() {
    threads.shutdownNow();
    cluster.close();
  }

  /** A worker whose life is driven by hand. */
  private final class Worker {
    final Scope scope;
    final GraphVariable step;
    final GraphVariable w;
    final GraphVariable b;
    final Output x;
    final Node train;
    final SyncReplicasHook hook;
    final SyncNodes nodes;
    final int index;
    private final Node initializer;
    private final List<Output> counts;
    Session session;
    Coordinator coordinator;

    Worker(int index, int aggregated, int total) {
      this.index = index;
      scope = cluster.placementOf(index).apply(Scope.of(new Graph(StandardOps.registry())));
      step = GlobalStep.of(scope);
      VariableScope variables = VariableScope.of(scope);
      w = variables.variable("w", Shape.scalar(), Initializers.zeros());
      b = variables.variable("b", Shape.scalar(), Initializers.zeros());
      x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.scalar());
      Output sum = Arithmetic.add(scope, w.read(), b.read());
      SyncReplicasOptimizer optimizer =
          new SyncReplicasOptimizer(new GradientDescent(1), aggregated, total);
      Output loss = Arithmetic.mul(scope, sum, Arithmetic.scaled(scope, x, -1));
      train = optimizer.minimize(scope, loss, step);
      hook = optimizer.hook(index == 0);
      nodes = optimizer.nodes();
      initializer = Variables.initializer(scope);
      List<Node> accumulators =
          scope.graph().nodes().stream()
              .filter(n -> n.op().name().equals("ResourceConditionalAccumulator"))
              .toList();
      counts = accumulators.stream().map(this::count).toList();
    }

    private Output count(Node accumulator) {
      return Scope.of(scope.graph())
          .withDevice(accumulator.device())
          .node("ResourceAccumulatorNumAccumulated")
          .input(accumulator.output())
          .add()
          .output();
    }

    void open() {
      session = cluster.sessionsOf(index).open(scope.graph());
      coordinator = new Coordinator();
    }

    /** The chief gives the variables their first values, as a restored checkpoint would. */
    void restore() {
      hook.beforePreparing(session);
      session.run(initializer);
    }

    void join() {
      hook.afterCreateSession(session, coordinator);
    }

    void lead() {
      open();
      restore();
      join();
    }

    void follow() {
      open();
      join();
    }

    /** Makes a step as a training session does. */
    void train(float value) {
      try (Tensor fed = Tensor.scalar(value);
          Tensor report =
              session
                  .run(Map.of(x, fed), List.of(nodes.report()), List.of(train), SOON)
                  .getFirst()) {
        hook.settle(session, TokenReport.of(report), RunOptions.DEFAULT);
      }
    }

    /** Makes a step as a worker of TensorFlow does, which goes on with any token. */
    void trainPlainly(float value) {
      try (Tensor fed = Tensor.scalar(value)) {
        session.run(Map.of(x, fed), List.of(), List.of(train), SOON);
      }
    }

    /** Makes half a step: sends gradients, and does not wait for a token. */
    void sendGradients(float value) {
      List<Node> sent = train.inputs().getLast().node().controlInputs();
      try (Tensor fed = Tensor.scalar(value)) {
        session.run(Map.of(x, fed), List.of(), sent, SOON);
      }
    }

    /** The other half, as a worker of TensorFlow makes it. */
    void takeTokenPlainly() {
      session.run(Map.of(), List.of(), List.of(nodes.takeAgain().take()), SOON);
    }

    /** Joins as a worker of TensorFlow does, which waits for nothing but variables. */
    void followPlainly() {
      open();
      session.run(nodes.localInit());
    }

    long step() {
      try (Tensor t = session.fetch(step.read())) {
        return t.longValue();
      }
    }

    float valueOf(GraphVariable v) {
      try (Tensor t = session.fetch(v.read())) {
        return t.floatValue();
      }
    }

    /** Puts tokens of some steps into the queue. */
    void addTokens(long... steps) {
      for (long s : steps) {
        try (Tensor t = Tensor.scalar(s)) {
          session.run(Map.of(nodes.returned(), t), nodes.giveBack());
        }
      }
    }

    /** As when the process is gone: whatever it was doing ends. */
    void lose() {
      coordinator.requestStop();
      session.close();
    }
  }

  private Future<?> async(Runnable work) {
    return threads.submit(work);
  }

  private static void await(Future<?> work) throws InterruptedException, ExecutionException {
    try {
      work.get(60, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new AssertionError("a worker waits in vain", e);
    }
  }

  /** All make {@code steps} steps, worker i feeding i + 1. */
  private void trainAll(int steps, Worker... workers) throws Exception {
    List<Future<?>> all =
        List.of(workers).stream()
            .<Future<?>>map(
                w ->
                    async(
                        () -> {
                          for (int i = 0; i < steps; i++) {
                            w.train(w.index + 1);
                          }
                        }))
            .toList();
    for (Future<?> f : all) {
      await(f);
    }
  }

  private static void assertModel(Worker worker, long step, float each) {
    assertEquals(step, worker.step());
    assertEquals(each, worker.valueOf(worker.w), 1e-5);
    assertEquals(each, worker.valueOf(worker.b), 1e-5);
  }

  @Test
  void workerWaitsUntilTheChiefHasDeclaredTheModelReady() throws Exception {
    Worker chief = new Worker(0, 2, 2);
    Worker other = new Worker(1, 2, 2);
    chief.open();
    chief.restore();
    Future<?> joining = async(other::follow);
    assertThrows(TimeoutException.class, () -> joining.get(300, TimeUnit.MILLISECONDS));
    chief.join();
    await(joining);
    trainAll(3, chief, other);
    assertModel(chief, 3, 4.5f);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void gradientSentBeforeTheChiefIsReadyIsSentAgain(int lost) throws Exception {
    Worker chief = new Worker(0, 2, 2);
    Worker other = new Worker(1, 2, 2);
    chief.lead();
    other.follow();
    trainAll(5, chief, other);
    chief.lose();
    other.lose();
    cluster.restartPs(lost);
    Worker again = new Worker(0, 2, 2);
    again.open();
    again.restore();
    // Accepted on the new parameter server, late on the other, which is still at step 5.
    Worker early = new Worker(1, 2, 2);
    early.followPlainly();
    early.sendGradients(2);
    Future<?> waiting = async(early::takeTokenPlainly);
    assertThrows(TimeoutException.class, () -> waiting.get(200, TimeUnit.MILLISECONDS));
    again.join();
    Future<?> own = async(() -> again.train(1));
    await(waiting);
    early.trainPlainly(2);
    await(own);
    assertModel(again, 1, 1.5f);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void trainingIsExactAfterALossWhicheverParameterServerItWas(int lost) throws Exception {
    Worker chief = new Worker(0, 3, 3);
    Worker second = new Worker(1, 3, 3);
    Worker third = new Worker(2, 3, 3);
    chief.lead();
    second.follow();
    third.follow();
    trainAll(4, chief, second, third);
    // One gradient is in the accumulators, and its worker waits for a token.
    Future<?> waiting = async(() -> second.train(100));
    awaitCount(chief, 1);
    chief.lose();
    third.lose();
    cluster.restartPs(lost);
    chief.open();
    chief.restore();
    chief.join();
    third.follow();
    ExecutionException e =
        assertThrows(ExecutionException.class, () -> waiting.get(60, TimeUnit.SECONDS));
    MillraceException cause = (MillraceException) e.getCause();
    assertTrue(cause.code() == Code.ABORTED || cause.code() == Code.UNAVAILABLE, cause.toString());
    second.lose();
    second.follow();
    trainAll(4, chief, second, third);
    assertModel(chief, 4, 8);
  }

  @Test
  void tokensOfOtherStepsAreNobodys() throws Exception {
    Worker chief = new Worker(0, 2, 2);
    Worker other = new Worker(1, 2, 2);
    chief.lead();
    other.follow();
    chief.addTokens(0, 1, 2, 3, 9, 4);
    trainAll(6, chief, other);
    assertModel(chief, 6, 9);
  }

  @Test
  void chiefThatFollowsALostOneFreesThoseWhoWait() throws Exception {
    Worker chief = new Worker(0, 2, 2);
    Worker other = new Worker(1, 2, 2);
    chief.lead();
    other.follow();
    trainAll(3, chief, other);
    Future<?> waiting = async(() -> other.train(2));
    awaitCount(chief, 1);
    chief.lose();
    Worker next = new Worker(0, 2, 2);
    next.open();
    // The variables are there: nothing is restored.
    next.hook.beforePreparing(next.session);
    next.join();
    ExecutionException e =
        assertThrows(ExecutionException.class, () -> waiting.get(60, TimeUnit.SECONDS));
    assertEquals(Code.ABORTED, ((MillraceException) e.getCause()).code());
    other.join();
    trainAll(3, next, other);
    assertModel(next, 6, 9);
  }

  @Test
  void preparationWaitsForTheTakesOfAnEarlierChief() throws Exception {
    Worker chief = new Worker(0, 2, 2);
    chief.lead();
    Worker next = new Worker(0, 2, 2);
    next.open();
    Future<?> waiting = preparationThatWaits(next);
    chief.lose();
    await(waiting);
  }

  /** The chief takes on a thread of its own: preparations from before its first take are passed. */
  private Future<?> preparationThatWaits(Worker worker) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (System.nanoTime() < end) {
      Future<?> preparing = async(() -> worker.hook.beforePreparing(worker.session));
      try {
        preparing.get(300, TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        return preparing;
      }
    }
    throw new AssertionError("no preparation waited for the takes of the earlier chief");
  }

  @Test
  void workerThatLeftIsNotWaitedForAfterTheTallyIsLost() throws Exception {
    Worker chief = new Worker(0, 3, 3);
    Worker second = new Worker(1, 3, 3);
    Worker third = new Worker(2, 3, 3);
    chief.lead();
    second.follow();
    third.follow();
    trainAll(2, chief, second, third);
    third.hook.end(third.session);
    trainAll(2, chief, second);
    chief.lose();
    second.lose();
    cluster.restartPs(0);
    chief.lead();
    second.follow();
    trainAll(3, chief, second);
    assertModel(chief, 3, 4.5f);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void jobWithASpareGoesOnAfterALoss(int lost) throws Exception {
    Worker chief = new Worker(0, 2, 3);
    Worker second = new Worker(1, 2, 3);
    Worker third = new Worker(2, 2, 3);
    chief.lead();
    second.follow();
    third.follow();
    for (int life = 0; life < 2; life++) {
      List<Future<?>> others = List.of(trainForEver(second), trainForEver(third));
      await(async(() -> trainUntil(chief, 8)));
      if (life == 0) {
        cluster.restartPs(lost);
        chief.lose();
        chief.lead();
        chief.addTokens(7, 8);
      } else {
        chief.lose();
      }
      second.lose();
      third.lose();
      for (Future<?> f : others) {
        await(f);
      }
      if (life == 0) {
        second.follow();
        third.follow();
      }
    }
  }

  private static void trainUntil(Worker worker, long step) {
    while (worker.step() < step) {
      worker.train(1);
    }
  }

  /** Makes steps until its session is gone. */
  private Future<?> trainForEver(Worker worker) {
    return async(
        () -> {
          try {
            trainUntil(worker, Long.MAX_VALUE);
          } catch (MillraceException e) {
            // The end.
          }
        });
  }

  /** Waits until {@code n} gradients are in every accumulator. */
  private static void awaitCount(Worker worker, int n) throws InterruptedException {
    long end = System.nanoTime() + 60_000_000_000L;
    while (true) {
      List<Tensor> found = worker.session.run(Map.of(), worker.counts, List.of(), SOON);
      boolean all = found.stream().allMatch(t -> t.intValue() == n);
      found.forEach(Tensor::close);
      if (all) {
        return;
      }
      assertTrue(System.nanoTime() < end, "no gradient came");
      TimeUnit.MILLISECONDS.sleep(1);
    }
  }
}
