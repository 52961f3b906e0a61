package dev.millrace.interop.ring;

import dev.millrace.base.Timers;
import dev.millrace.collective.Ring;
import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.interop.ChildProcess;
import dev.millrace.ring.DistributedOptimizer;
import dev.millrace.ring.RingOps;
import dev.millrace.ring.VariableBroadcast;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.variable.Variables;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * One rank of a ring that trains: told a number of steps on standard input, it runs them and
 * answers with the seconds they took. Arguments: the network, and {@code overlap} or {@code late},
 * which reduces nothing before all gradients are computed.
 */
final class TrainingRank {
  private static final float RATE = .01f;

  private TrainingRank() {}

  static void main(String[] args) throws IOException {
    Parallel.setThreads(1);
    try (Ring ring = Ring.init()) {
      Scope scope = Scope.of(RingOps.newGraph(ring));
      RankModel model = RankModel.of(scope, args[0]);
      DistributedOptimizer optimizer = new DistributedOptimizer(ring, new GradientDescent(RATE));
      Node train =
          (args[1].equals("late") ? optimizer.withoutOverlap() : optimizer)
              .minimize(scope, model.loss(), null);
      Node init = Variables.initializer(scope);
      Node broadcast = VariableBroadcast.of(scope, 0);
      try (Session session = new LocalSession(scope.graph())) {
        session.run(init);
        session.run(broadcast);
        serve(
            session.makeCallable(
                List.of(model.images(), model.labels()), List.of(model.loss()), List.of(train)),
            RankModel.batch(ring.rank()));
      }
    }
  }

  /** Runs as many steps as each line says. */
  static void serve(Session.Callable step, Tensor[] batch) throws IOException {
    ChildProcess.reply(System.out, "ready");
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      int steps = Integer.parseInt(line);
      long start = Timers.system().now();
      for (int i = 0; i < steps; i++) {
        step.run(batch)[0].close();
      }
      ChildProcess.reply(System.out, Double.toString((Timers.system().now() - start) / 1e9));
    }
  }
}
