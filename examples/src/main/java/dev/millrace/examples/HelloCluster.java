package dev.millrace.examples;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.InProcessCluster;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.io.StringJoin;
import dev.millrace.runtime.Session;
import java.util.List;
import java.util.Map;

/**
 * Hello, over two tasks: one graph with a node on each, run through the master of the first.
 *
 * <pre>
 * with tf.device("/job:worker/task:0"):
 *   hello = tf.constant("Hello, ")
 * with tf.device("/job:worker/task:1"):
 *   greeting = tf.strings.join([hello, "distributed TensorFlow!"])
 * with tf.Session(server.target) as sess:
 *   print(sess.run(greeting))
 * </pre>
 */
public final class HelloCluster {
  private HelloCluster() {}

  /** Prints the greeting. */
  public static void main(String[] args) {
    System.out.println(greeting());
  }

  static String greeting() {
    // A graph is an object; there is no default one.
    Graph graph = StandardOps.newGraph();
    // tf.device, tf.name_scope and tf.control_dependencies are values of a Scope, not blocks.
    Scope scope = Scope.of(graph);
    Output hello = Const.of(scope.withDevice("/job:worker/task:0"), "Hello, ");
    Scope second = scope.withDevice("/job:worker/task:1");
    Output greeting =
        StringJoin.of(second, List.of(hello, Const.of(second, "distributed TensorFlow!")));
    // Both tasks live in this process; tf.train.Server is dev.millrace.cluster.Server.
    try (InProcessCluster cluster =
            InProcessCluster.start(Map.of("worker", 2), StandardOps.registry());
        Session session = new ClusterSession(graph, cluster.server("worker", 0).target())) {
      return session.fetch(greeting).stringValue();
    }
  }
}
