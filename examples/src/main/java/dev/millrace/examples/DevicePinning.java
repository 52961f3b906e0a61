package dev.millrace.examples;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.MatMul;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.PrintStream;

/**
 * Nodes pinned to devices, and the log that shows where each one went.
 *
 * <pre>
 * with tf.device("/cpu:0"):
 *   a = tf.constant([1., 2., 3., 4., 5., 6.], shape=[2, 3], name="a")
 *   b = tf.constant([1., 2., 3., 4., 5., 6.], shape=[3, 2], name="b")
 * with tf.device("/cpu:1"):
 *   c = tf.matmul(a, b, name="c")
 * config = tf.ConfigProto(log_device_placement=True, device_count={"CPU": 2})
 * print(tf.Session(config=config).run(c))
 * </pre>
 */
public final class DevicePinning {
  private DevicePinning() {}

  /** Prints the placement of each node, then the product. */
  public static void main(String[] args) {
    System.out.println(product(System.out));
  }

  static Tensor product(PrintStream placementLog) {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    Scope first = scope.withDevice("/cpu:0");
    Tensor numbers = Tensor.vector(1f, 2f, 3f, 4f, 5f, 6f);
    Output a = Const.of(first.withName("a"), numbers.reshaped(Shape.of(2, 3)));
    Output b = Const.of(first.withName("b"), numbers.reshaped(Shape.of(3, 2)));
    Output c = MatMul.of(scope.withDevice("/cpu:1").withName("c"), a, b);
    SessionOptions options =
        SessionOptions.DEFAULT.withCpuDevices(2).withPlacementLog(placementLog);
    try (Session session = new LocalSession(graph, options)) {
      return session.fetch(c);
    }
  }
}
