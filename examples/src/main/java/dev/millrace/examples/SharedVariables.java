package dev.millrace.examples;

import dev.millrace.cluster.InProcessCluster;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.List;
import java.util.Map;

/**
 * Two variables on a parameter server and three workers that compute with them: {@code w + b},
 * {@code w * b} and {@code w / b}, in one step.
 *
 * <pre>
 * with tf.device("/job:ps/task:0"):
 *   w = tf.Variable(6.0, name="w")
 *   b = tf.Variable(3.0, name="b")
 * with tf.device("/job:worker/task:0"):
 *   add = w + b
 * with tf.device("/job:worker/task:1"):
 *   mul = w * b
 * with tf.device("/job:worker/task:2"):
 *   div = w / b
 * with tf.Session("grpc://localhost:2222") as sess:
 *   sess.run(tf.global_variables_initializer())
 *   print(sess.run([add, mul, div]))
 * </pre>
 */
public final class SharedVariables {
  private SharedVariables() {}

  /** Prints the three results. */
  public static void main(String[] args) {
    System.out.println("w + b, w * b, w / b = " + results());
  }

  static List<Float> results() {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    VariableScope ps = VariableScope.of(scope.withDevice("/job:ps/task:0"));
    GraphVariable w = ps.startingWith("w", Tensor.scalar(6f));
    GraphVariable b = ps.startingWith("b", Tensor.scalar(3f));
    Output add = Arithmetic.add(scope.withDevice("/job:worker/task:0"), w.read(), b.read());
    Output mul = Arithmetic.mul(scope.withDevice("/job:worker/task:1"), w.read(), b.read());
    Output div = Arithmetic.realDiv(scope.withDevice("/job:worker/task:2"), w.read(), b.read());
    try (InProcessCluster cluster =
            InProcessCluster.start(Map.of("ps", 1, "worker", 3), StandardOps.registry());
        Session session = cluster.server("worker", 0).session(graph)) {
      session.run(Variables.initializer(scope));
      // Variables belong to the parameter server: another session would see these values too.
      return session.run(Map.of(), List.of(add, mul, div), List.of()).stream()
          .map(Tensor::floatValue)
          .toList();
    }
  }
}
